//! Uses of Phaser's members: found, missing, or with too few arguments.

use std::collections::BTreeSet;

use oxc_ast::AstKind;
use oxc_ast::ast::{Argument, Expression};
use oxc_span::GetSpan;
use oxc_syntax::node::NodeId;

use super::findings::{ApiFindings, FewArguments, MAX_FINDINGS, UnknownName, shorten};
use super::infer::Inference;
use super::lookup::{Hit, Lookup, Target};
use super::nearest::nearest;
use super::place::Places;
use super::value::Value;
use super::whitelist::is_allowed;
use crate::index::Kind;
use crate::index::table::find;
use crate::index::types::{RowId, Type, TypeId};

/// One `object.name` of the program.
struct Use<'a> {
    node: NodeId,
    object: &'a Expression<'a>,
    name: &'a str,
    /// Where the name stands.
    offset: u32,
}

/// Looks at every member that the program reads or calls.
///
/// Nodes are taken from the last to the first: what an expression is made of comes after it, and so is known
/// when it is needed, however deep the expression is.
pub(super) fn uses(inference: &mut Inference<'_, '_>, places: &Places<'_>) -> ApiFindings {
    let nodes = inference.semantic.nodes();
    let count = nodes.len();
    let mut findings = ApiFindings::default();
    for at in (0..count).rev() {
        let node = NodeId::from_usize(at);
        match nodes.kind(node) {
            AstKind::StaticMemberExpression(member) => {
                let found = Use {
                    node,
                    object: &member.object,
                    name: member.property.name.as_str(),
                    offset: member.property.span.start,
                };
                member_use(inference, &found, places, &mut findings);
            }
            AstKind::ComputedMemberExpression(member) => {
                if let Some(name) = member.static_property_name() {
                    let offset = member.expression.span().start;
                    let found = Use { node, object: &member.object, name: name.as_str(), offset };
                    member_use(inference, &found, places, &mut findings);
                }
            }
            AstKind::NewExpression(new) => {
                let callee = inference.expression(&new.callee);
                if let Some(row) = inference.as_space(callee) {
                    let given = Given { arguments: &new.arguments, offset: new.span.start };
                    construct(inference, row, &given, places, &mut findings);
                }
            }
            _ => {}
        }
    }
    findings.unknown.reverse();
    findings.few_args.reverse();
    findings
}

struct Given<'g, 'a> {
    arguments: &'g [Argument<'a>],
    offset: u32,
}

fn member_use<'a>(
    inference: &mut Inference<'_, 'a>,
    found: &Use<'a>,
    places: &Places<'_>,
    findings: &mut ApiFindings,
) {
    let object = inference.expression(found.object);
    match inference.lookup(object, found.name) {
        Lookup::Unknown => {}
        Lookup::Hits(hits) => {
            if hits.iter().any(is_phasers) {
                findings.resolved = findings.resolved.saturating_add(1);
                call(inference, found, &hits, places, findings);
            }
        }
        Lookup::Missing => {
            let is_quiet = is_allowed(found.name)
                || inference.facts.defined.contains(found.name)
                || inference.facts.has_computed_names && matches!(object, Value::Object(_))
                || is_matters(inference, found.name)
                || is_guarded(inference, found.node);
            if !is_quiet && findings.unknown.len() < MAX_FINDINGS {
                findings.unknown.push(unknown(inference, object, found, places));
            }
        }
    }
}

/// Whether a member is one of Phaser's, and not of a class of the program.
fn is_phasers(hit: &Hit<'_>) -> bool {
    match hit.target {
        Target::Shape(_) | Target::HeirShape(_) => true,
        Target::Value(_) => matches!(hit.receiver, Value::Known { .. }),
    }
}

/// Whether a name is that of a member which Matter physics adds to game objects of any kind.
fn is_matters(inference: &Inference<'_, '_>, name: &str) -> bool {
    let tables = &inference.index.tables;
    let row =
        tables.paths.get("Phaser.Physics.Matter.Sprite").filter(|_| inference.facts.uses_matter);
    row.zip(tables.name(name))
        .is_some_and(|(row, name)| find(&inference.table(*row).instance, name).is_some())
}

/// Whether a missing member does no harm: it is written, deleted, or asked for before it is used, or stands alone.
fn is_guarded(inference: &Inference<'_, '_>, node: NodeId) -> bool {
    let nodes = inference.semantic.nodes();
    match nodes.parent_kind(node) {
        AstKind::AssignmentExpression(assignment) => {
            assignment.left.span() == nodes.kind(node).span()
        }
        AstKind::UnaryExpression(unary) => unary.operator.is_typeof() || unary.operator.is_delete(),
        AstKind::CallExpression(call) => {
            call.optional && call.callee.span() == nodes.kind(node).span()
        }
        AstKind::ExpressionStatement(_)
        | AstKind::UpdateExpression(_)
        | AstKind::ArrayAssignmentTarget(_)
        | AstKind::AssignmentTargetWithDefault(_)
        | AstKind::AssignmentTargetPropertyProperty(_) => true,
        _ => false,
    }
}

fn unknown<'a>(
    inference: &mut Inference<'_, 'a>,
    object: Value<'a>,
    found: &Use<'a>,
    places: &Places<'_>,
) -> UnknownName {
    let place = places.of(found.offset);
    let sides = sides(inference, object);
    let owner = sides
        .first()
        .map_or("Phaser", |side| inference.index.rows()[side.row as usize].path.as_str());
    let tables = &inference.index.tables;
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for side in &sides {
        let table = inference.table(side.row);
        let slots = if side.is_static { &table.statics } else { &table.instance };
        known.extend(slots.iter().map(|(name, _)| &*tables.spelling[*name as usize]));
    }
    UnknownName {
        line: place.line,
        column: place.column,
        what: shorten(&format!("{owner}.{}", found.name)),
        nearest: nearest(found.name, known.into_iter()),
    }
}

/// A declaration, by its static side or by its instances.
struct Side {
    row: RowId,
    is_static: bool,
}

fn sides<'a>(inference: &mut Inference<'_, 'a>, value: Value<'a>) -> Vec<Side> {
    match value {
        Value::Known { ty, .. } => type_sides(inference, ty),
        Value::Object(class) => {
            let row = inference.root_of(class);
            row.map(|row| Side { row, is_static: false }).into_iter().collect()
        }
        Value::Several(_) => {
            let all = inference.alternatives(value);
            all.into_iter().flat_map(|one| sides(inference, one)).collect()
        }
        _ => Vec::new(),
    }
}

fn type_sides(inference: &Inference<'_, '_>, ty: TypeId) -> Vec<Side> {
    let tables = &inference.index.tables;
    match tables.types.get(tables.resolve(ty)) {
        Type::Instance(row, _) => vec![Side { row: *row, is_static: false }],
        Type::Space(row) => vec![Side { row: *row, is_static: true }],
        Type::Union(parts) | Type::Both(parts) => {
            parts.iter().flat_map(|part| type_sides(inference, *part)).collect()
        }
        _ => Vec::new(),
    }
}

/// Counts the arguments of a call of a member.
fn call<'a>(
    inference: &mut Inference<'_, 'a>,
    found: &Use<'a>,
    hits: &[Hit<'a>],
    places: &Places<'_>,
    findings: &mut ApiFindings,
) {
    let nodes = inference.semantic.nodes();
    let AstKind::CallExpression(call) = nodes.parent_kind(found.node) else { return };
    if call.callee.span() != nodes.kind(found.node).span() {
        return;
    }
    let needed = hits.iter().map(|hit| needed(inference, hit)).min().unwrap_or(0);
    let given = Given { arguments: &call.arguments, offset: found.offset };
    if let Some((given, needed)) = too_few(given.arguments, needed)
        && findings.few_args.len() < MAX_FINDINGS
    {
        let object = inference.expression(found.object);
        let owner = sides(inference, object).first().map(|side| side.row);
        let owner =
            owner.map_or("Phaser", |row| inference.index.rows()[row as usize].path.as_str());
        let place = places.of(found.offset);
        let what = shorten(&format!("{owner}.{}", found.name));
        findings.few_args.push(FewArguments {
            line: place.line,
            column: place.column,
            what,
            given,
            needed,
        });
    }
}

fn needed(inference: &Inference<'_, '_>, hit: &Hit<'_>) -> u8 {
    let shapes = &inference.index.tables.shapes;
    let shape = match hit.target {
        Target::Shape(shape) => Some(shape),
        Target::HeirShape(_) => None,
        Target::Value(value) => inference.as_space(value).and_then(|row| {
            let table = inference.table(row);
            table.own.filter(|_| table.kind == Some(Kind::Function))
        }),
    };
    let shape = shape.map(|shape| &shapes[shape as usize]);
    shape.filter(|shape| shape.is_method).map_or(0, |shape| shape.min)
}

fn too_few(given: &[Argument<'_>], needed: u8) -> Option<(u32, u32)> {
    let has_spread = given.iter().any(Argument::is_spread);
    let count = u32::try_from(given.len()).unwrap_or(u32::MAX);
    (!has_spread && count < u32::from(needed)).then_some((count, u32::from(needed)))
}

fn construct(
    inference: &Inference<'_, '_>,
    row: RowId,
    given: &Given<'_, '_>,
    places: &Places<'_>,
    findings: &mut ApiFindings,
) {
    let table = inference.table(row);
    let own = table.own.filter(|_| table.kind == Some(Kind::Class));
    let Some(shape) = own.map(|own| &inference.index.tables.shapes[own as usize]) else { return };
    if let Some((count, needed)) = too_few(given.arguments, shape.min)
        && findings.few_args.len() < MAX_FINDINGS
    {
        let place = places.of(given.offset);
        let what = shorten(&format!("new {}", inference.index.rows()[row as usize].path));
        let (line, column) = (place.line, place.column);
        findings.few_args.push(FewArguments { line, column, what, given: count, needed });
    }
}
