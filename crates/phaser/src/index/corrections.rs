//! Where the declaration file says less, or more, than is so at run time.
//!
//! Matter.js has a declaration file of its own, some namespaces hold what plugins add, members that are
//! marked private are left out, some parameters are declared as needed although the engine does without,
//! and a group's methods return `any`. Names and numbers here were found by comparing the declarations with
//! the engine itself, and with its official examples.

use std::collections::BTreeMap;

use super::row::{Member, MemberKind, Row};

/// Namespaces and classes in which an unknown name is no finding.
const OPEN: &[&str] = &["Phaser.Physics.Matter.Matter", "Phaser.Plugins", "Phaser.Types"];

/// Object types that the engine makes and hands out whole; other object types describe settings, to which
/// a program may add what it likes.
const CLOSED_OBJECTS: &[&str] = &["Phaser.Types.Input.Keyboard.CursorKeys"];

/// A member that needs fewer arguments than are declared.
struct FewerNeeded {
    owner: &'static str,
    member: &'static str,
    min: u8,
}

const fn fewer(owner: &'static str, member: &'static str, min: u8) -> FewerNeeded {
    FewerNeeded { owner, member, min }
}

const FEWER_NEEDED: &[FewerNeeded] = &[
    fewer("Phaser.Curves.Curve", "getUtoTmapping", 1),
    fewer("Phaser.Curves.CubicBezier", "getUtoTmapping", 1),
    fewer("Phaser.Game", "destroy", 0),
    fewer("Phaser.GameObjects.Bob", "setFlipX", 0),
    fewer("Phaser.GameObjects.Bob", "setFlipY", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "image", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "path", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "sprite", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "text", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "timeline", 0),
    fewer("Phaser.GameObjects.GameObjectFactory", "zone", 2),
    fewer("Phaser.GameObjects.Particles.ParticleEmitter", "forEachAlive", 1),
    fewer("Phaser.GameObjects.Particles.ParticleEmitter", "forEachDead", 1),
    fewer("Phaser.Geom.Rectangle", "Random", 1),
    fewer("Phaser.Time.Clock", "addEvent", 0),
    fewer("Phaser.Physics.Arcade.Factory", "collider", 1),
    fewer("Phaser.Physics.Arcade.Factory", "overlap", 1),
    fewer("Phaser.Physics.Arcade.Factory", "image", 2),
    fewer("Phaser.Physics.Arcade.Factory", "sprite", 2),
    fewer("Phaser.Physics.Arcade.Factory", "staticImage", 2),
    fewer("Phaser.Physics.Arcade.Factory", "staticSprite", 2),
    fewer("Phaser.Physics.Matter.Components.SetBody", "setCircle", 0),
    fewer("Phaser.Physics.Matter.Components.SetBody", "setRectangle", 0),
    fewer("Phaser.Physics.Matter.Image", "setCircle", 0),
    fewer("Phaser.Physics.Matter.Image", "setRectangle", 0),
    fewer("Phaser.Physics.Matter.Sprite", "setCircle", 0),
    fewer("Phaser.Physics.Matter.Sprite", "setRectangle", 0),
    fewer("Phaser.Physics.Matter.TileBody", "setCircle", 0),
    fewer("Phaser.Physics.Matter.TileBody", "setRectangle", 0),
    fewer("Phaser.Tilemaps.Tilemap", "createLayer", 1),
    fewer("Phaser.Tweens.TweenManager", "stagger", 1),
];

/// Methods of a group that return a member of it.
const MEMBERS_OF_GROUP: [&str; 8] = [
    "create",
    "get",
    "getFirst",
    "getFirstAlive",
    "getFirstDead",
    "getFirstNth",
    "getLast",
    "getLastNth",
];

/// Members that the engine has and does not declare, by the start of its version: `path#name` of an instance,
/// `path.name` static.
const UNDECLARED: [(&str, &str); 2] = [
    ("3.", include_str!("../../../../assets/phaser/undeclared-3.txt")),
    ("4.", include_str!("../../../../assets/phaser/undeclared-4.txt")),
];

/// Whether `path` is on the list of open declarations.
pub(super) fn is_open(path: &str) -> bool {
    OPEN.contains(&path)
}

/// Whether the object type at `path` has exactly its listed members.
pub(super) fn is_closed_object(path: &str) -> bool {
    CLOSED_OBJECTS.contains(&path)
}

/// Corrects rows that were read from declarations of `version`.
pub(super) fn correct(rows: &mut BTreeMap<String, Row>, version: &str) {
    for one in FEWER_NEEDED {
        let row = rows.get_mut(one.owner);
        if let Some(member) = row.and_then(|row| row.members.get_mut(one.member)) {
            member.min = member.min.min(one.min);
        }
    }
    if let Some(group) = rows.get_mut("Phaser.GameObjects.Group") {
        for name in MEMBERS_OF_GROUP {
            if let Some(method) = group.members.get_mut(name) {
                method.t = Some("Phaser.GameObjects.GameObject".to_owned());
            }
        }
    }
    let undeclared = UNDECLARED.iter().filter(|(release, _)| version.starts_with(release));
    undeclared.flat_map(|(_, names)| names.lines()).for_each(|line| declare(rows, line));
}

fn declare(rows: &mut BTreeMap<String, Row>, line: &str) {
    let of_instance = line.split_once('#').map(|(path, name)| (path, name, false));
    let found =
        of_instance.or_else(|| line.rsplit_once('.').map(|(path, name)| (path, name, true)));
    let Some((path, name, st)) = found else { return };
    let Some(row) = rows.get_mut(path) else { return };
    let new =
        Member { k: MemberKind::Property, t: None, st, min: 0, max: None, cb: BTreeMap::new() };
    row.members.entry(name.to_owned()).or_insert(new);
}
