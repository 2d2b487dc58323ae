//! Members of values.

use super::infer::{Inference, MAX_CHAIN};
use super::value::{ClassId, Value};
use crate::index::Kind;
use crate::index::table::{Slot, find};
use crate::index::types::{RowId, Type, TypeId};

/// What a name stands for in a value.
#[derive(Debug, Clone)]
pub(super) enum Lookup<'a> {
    /// It cannot be said.
    Unknown,
    /// There is no such member.
    Missing,
    /// A member, or one of several.
    Hits(Vec<Hit<'a>>),
}

/// A member that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<'a> {
    /// The value whose member it is.
    pub(super) receiver: Value<'a>,
    /// The member.
    pub(super) target: Target<'a>,
    /// Whether a call of it makes a new object.
    pub(super) is_factory: bool,
}

/// A member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target<'a> {
    /// A member of a type of the index.
    Shape(u32),
    /// A member of a type that inherits from it.
    HeirShape(u32),
    /// A value that is known otherwise.
    Value(Value<'a>),
}

impl<'a> Inference<'_, 'a> {
    /// What `name` stands for in `value`.
    pub(super) fn lookup(&mut self, value: Value<'a>, name: &'a str) -> Lookup<'a> {
        match value {
            Value::Known { ty, exact } => {
                self.lookup_type(&TypeUse { ty, exact, receiver: value }, name)
            }
            Value::Object(class) => self.lookup_class(class, name, value),
            Value::Literal(object) => self.lookup_literal(object, name, value),
            Value::Several(_) => {
                let alternatives = self.alternatives(value);
                let found = alternatives.into_iter().map(|one| self.lookup(one, name)).collect();
                one_of(found)
            }
            _ => Lookup::Unknown,
        }
    }

    fn lookup_literal(
        &mut self,
        object: &'a oxc_ast::ast::ObjectExpression<'a>,
        name: &'a str,
        receiver: Value<'a>,
    ) -> Lookup<'a> {
        if self.facts.defined.contains(name) {
            return Lookup::Unknown;
        }
        match super::names::property(object, name) {
            Some(value) => {
                let value = self.expression(value);
                hit(receiver, Target::Value(value))
            }
            None => Lookup::Unknown,
        }
    }

    fn lookup_class(&mut self, class: ClassId, name: &'a str, receiver: Value<'a>) -> Lookup<'a> {
        let mut class = class;
        for _ in 0..MAX_CHAIN {
            if let Some(value) = self.field(class, name) {
                return self.declared_field(class, name, Hit::new(receiver, Target::Value(value)));
            }
            let base = self.base(class);
            match (base, self.as_space(base)) {
                (Value::Class(next), _) => class = next,
                (_, Some(row)) if self.table(row).kind == Some(Kind::Class) => {
                    let Some(ty) = self.table(row).made else { return Lookup::Unknown };
                    return self.lookup_type(&TypeUse { ty, exact: true, receiver }, name);
                }
                _ => return Lookup::Unknown,
            }
        }
        Lookup::Unknown
    }

    /// A field of a class of the program. A `scene` of which nothing is known has the type that the class of
    /// Phaser below says.
    fn declared_field(&mut self, class: ClassId, name: &'a str, own: Hit<'a>) -> Lookup<'a> {
        let is_known = !matches!(own.target, Target::Value(Value::Unknown | Value::Nothing));
        if name != "scene" || is_known {
            return Lookup::Hits(vec![own]);
        }
        let base = self.base(class);
        let below = self.as_space(base).and_then(|row| self.table(row).made);
        let found = below
            .map(|ty| self.lookup_type(&TypeUse { ty, exact: true, receiver: own.receiver }, name));
        found.filter(|found| matches!(found, Lookup::Hits(_))).unwrap_or(Lookup::Hits(vec![own]))
    }

    fn lookup_type(&mut self, of: &TypeUse<'a>, name: &'a str) -> Lookup<'a> {
        let index = self.index;
        let ty = index.tables.resolve(of.ty);
        match index.tables.types.get(ty) {
            Type::Instance(row, _) => self.lookup_instance(*row, of, name),
            Type::Space(row) => self.lookup_space(*row, of, name),
            Type::Union(types) => {
                let part = |ty: &TypeId| {
                    // A value of a union is one of the parts, and what is found is found in that part.
                    let receiver = match of.receiver {
                        Value::Known { .. } => Value::Known { ty: *ty, exact: of.exact },
                        other => other,
                    };
                    self.lookup_type(&TypeUse { ty: *ty, exact: of.exact, receiver }, name)
                };
                one_of(types.iter().map(part).collect())
            }
            Type::Both(types) => {
                let part = |ty: &TypeId| self.lookup_type(&TypeUse { ty: *ty, ..*of }, name);
                let found: Vec<Lookup<'a>> = types.iter().map(part).collect();
                let first = found.iter().find(|one| matches!(one, Lookup::Hits(_))).cloned();
                first.unwrap_or_else(|| one_of(found))
            }
            _ => Lookup::Unknown,
        }
    }

    fn lookup_instance(&self, row: RowId, of: &TypeUse<'a>, name: &str) -> Lookup<'a> {
        let table = self.table(row);
        let Some(name_id) = self.index.tables.name(name) else {
            let is_open = table.is_open || !of.exact && self.is_foreign(row);
            return if is_open { Lookup::Unknown } else { Lookup::Missing };
        };
        if let Some(slot) = find(&table.instance, name_id) {
            return self.slot(slot, of.receiver, table.is_factory);
        }
        if table.is_open || !of.exact && self.is_foreign(row) {
            return Lookup::Unknown;
        }
        let mut heirs =
            table.descendants.iter().filter(|_| !of.exact).map(|heir| self.table(*heir));
        match heirs.find_map(|heir| find(&heir.instance, name_id)) {
            Some(Slot::Member(shape)) => hit(of.receiver, Target::HeirShape(shape)),
            Some(Slot::Row(_)) => Lookup::Unknown,
            None => Lookup::Missing,
        }
    }

    /// Whether a value of which no more is known than what it inherits from may be of a class in another
    /// file: the program imports some, or there is no scene in it.
    fn is_foreign(&self, row: RowId) -> bool {
        let path = |row: RowId| self.index.rows()[row as usize].path.as_str();
        if path(row) == "Phaser.Scene" {
            return self.facts.imports_others || !self.has_scene;
        }
        let mut ancestors = self.table(row).ancestors.iter();
        self.facts.imports_others
            && ancestors.any(|row| path(*row) == "Phaser.GameObjects.GameObject")
    }

    fn lookup_space(&self, row: RowId, of: &TypeUse<'a>, name: &str) -> Lookup<'a> {
        let table = self.table(row);
        let slot = self.index.tables.name(name).and_then(|name| find(&table.statics, name));
        match (slot, table.kind) {
            (Some(slot), _) => self.slot(slot, of.receiver, false),
            _ if table.is_open => Lookup::Unknown,
            (None, Some(Kind::Class | Kind::Namespace | Kind::Enum)) => Lookup::Missing,
            _ => Lookup::Unknown,
        }
    }

    fn slot(&self, slot: Slot, receiver: Value<'a>, is_factory: bool) -> Lookup<'a> {
        let target = match slot {
            Slot::Member(shape) => Target::Shape(shape),
            Slot::Row(row) => Target::Value(self.declared(row)),
        };
        Lookup::Hits(vec![Hit { receiver, target, is_factory }])
    }

    /// The value of a declaration.
    fn declared(&self, row: RowId) -> Value<'a> {
        let table = self.table(row);
        match table.kind {
            Some(Kind::Const) => {
                let own = table.own.map(|own| self.index.tables.shapes[own as usize].ty);
                own.map_or(Value::Unknown, |ty| self.of_type(ty))
            }
            Some(Kind::Interface | Kind::Typedef) | None => Value::Unknown,
            _ => self.space(row),
        }
    }
}

/// A type at its use.
struct TypeUse<'a> {
    ty: TypeId,
    exact: bool,
    receiver: Value<'a>,
}

impl<'a> Hit<'a> {
    fn new(receiver: Value<'a>, target: Target<'a>) -> Self {
        Self { receiver, target, is_factory: false }
    }
}

fn hit<'a>(receiver: Value<'a>, target: Target<'a>) -> Lookup<'a> {
    Lookup::Hits(vec![Hit::new(receiver, target)])
}

/// A member of a value that is one of several: it is missing only where all of them lack it.
fn one_of(found: Vec<Lookup<'_>>) -> Lookup<'_> {
    let mut hits = Vec::new();
    for one in found {
        match one {
            Lookup::Unknown => return Lookup::Unknown,
            Lookup::Missing => {}
            Lookup::Hits(more) => hits.extend(more),
        }
    }
    if hits.is_empty() { Lookup::Missing } else { Lookup::Hits(hits) }
}
