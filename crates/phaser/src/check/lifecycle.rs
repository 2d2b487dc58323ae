//! The parts of a game that a program has.

use oxc_ast::AstKind;
use oxc_ast::ast::AssignmentTarget;

use super::facts::Base;
use super::findings::Lifecycle;
use super::infer::Inference;
use super::value::{ClassId, Value};
use crate::index::types::{RowId, Type};

/// Looks for scenes with their functions, and for a game.
pub(super) fn lifecycle(inference: &mut Inference<'_, '_>) -> Lifecycle {
    let mut parts = Lifecycle::default();
    let paths = &inference.index.tables.paths;
    let Some(scene) = paths.get("Phaser.Scene").copied() else { return parts };
    let game = paths.get("Phaser.Game").copied();
    classes(inference, scene, &mut parts);
    assigned(inference, scene, &mut parts);
    for node in inference.semantic.nodes().iter() {
        if let AstKind::NewExpression(new) = node.kind() {
            let callee = inference.expression(&new.callee);
            let row = inference.as_space(callee).or_else(|| match callee {
                Value::Class(class) => inference.root_of(class),
                _ => None,
            });
            parts.new_game |= row.is_some() && row == game;
        }
    }
    parts
}

fn classes(inference: &mut Inference<'_, '_>, scene: RowId, parts: &mut Lifecycle) {
    for class in 0..inference.facts.classes.len() {
        let class = ClassId::try_from(class).unwrap_or(ClassId::MAX);
        if inference.root_of(class) != Some(scene) {
            continue;
        }
        let own = &inference.facts.classes[class as usize];
        parts.scene_class |= matches!(own.base, Base::Extends(_));
        for name in ["preload", "create", "update"] {
            if own.members.contains_key(name) {
                note(parts, name);
            }
        }
    }
}

/// `scene.create = function () { .. }`, where `scene` is a `Phaser.Scene`.
fn assigned(inference: &mut Inference<'_, '_>, scene: RowId, parts: &mut Lifecycle) {
    for assignment in inference.facts.assignments.clone() {
        let AssignmentTarget::StaticMemberExpression(target) = &assignment.left else { continue };
        if let Value::Known { ty, .. } = inference.expression(&target.object)
            && let Type::Instance(row, _) = inference.index.tables.types.get(ty)
            && *row == scene
        {
            note(parts, target.property.name.as_str());
        }
    }
}

fn note(parts: &mut Lifecycle, name: &str) {
    match name {
        "preload" => parts.preload = true,
        "create" => parts.create = true,
        "update" => parts.update = true,
        _ => {}
    }
}
