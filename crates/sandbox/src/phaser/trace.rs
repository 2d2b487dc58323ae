//! Snapshots of the live scenes of a game.

#![expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks like that whether to leave a field out"
)]

use serde::{Deserialize, Serialize};

/// Classes that draw a shape.
pub const SHAPES: [&str; 11] = [
    "Arc",
    "Curve",
    "Ellipse",
    "Grid",
    "IsoBox",
    "IsoTriangle",
    "Line",
    "Polygon",
    "Rectangle",
    "Star",
    "Triangle",
];
/// Classes that show a text.
pub const TEXTS: [&str; 4] = ["BitmapText", "DynamicBitmapText", "RetroFont", "Text"];

/// Snapshots of one run, in the order of their frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The width of the game.
    pub width: f64,
    /// The height of the game.
    pub height: f64,
    /// The snapshots.
    pub snapshots: Vec<Snapshot>,
    /// Whether snapshots or objects were left out, because there are too many.
    pub truncated: bool,
}

/// The objects of one frame.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Frames that had passed.
    pub frame: u32,
    /// Keys of the running scenes.
    pub scenes: Vec<String>,
    /// Where the main camera of the first running scene has scrolled to.
    pub scroll: [f64; 2],
    /// The objects on display.
    pub objects: Vec<ObjectState>,
}

/// One object on display. A snapshot has many: what is as usual is not written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectState {
    /// Its number, by which it is the same object in all snapshots.
    pub id: u32,
    /// The name of the class of Phaser that it is, or is derived from: `Sprite`, `Text`, `Arc`, …
    pub kind: String,
    /// Its place, in the coordinates of the world.
    pub x: f64,
    /// Its place, in the coordinates of the world.
    pub y: f64,
    /// Its width, scaled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub width: f64,
    /// Its height, scaled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub height: f64,
    /// Where its place is within its width and height, from 0 to 1.
    #[serde(default = "middle", skip_serializing_if = "is_middle")]
    pub origin: [f64; 2],
    /// Its rotation in radians.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rotation: f64,
    /// Its scale in both directions.
    #[serde(default = "one_each", skip_serializing_if = "is_one_each")]
    pub scale: [f64; 2],
    /// How opaque it is.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub alpha: f64,
    /// Whether it is to be seen.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub visible: bool,
    /// Its text, at most 120 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its colour or tint as Phaser has it, `0xrrggbb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<u32>,
    /// Further colours that it draws with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_colors: Vec<u32>,
    /// The key of its texture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<String>,
    /// The key of the animation that it plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub animation: Option<String>,
    /// Whether it takes input.
    #[serde(default, skip_serializing_if = "is_no")]
    pub interactive: bool,
    /// Its body, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyState>,
}

/// The physics body of an object.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyState {
    /// Its velocity.
    pub vx: f64,
    /// Its velocity.
    pub vy: f64,
    /// Whether it never moves by itself.
    #[serde(default, skip_serializing_if = "is_no")]
    pub fixed: bool,
}

impl Trace {
    /// Has what no camera ever showed count as invisible.
    pub(super) fn hide(&mut self, is_shown: impl Fn(u32) -> bool) {
        for shot in &mut self.snapshots {
            shot.hide(&is_shown);
        }
    }
}

impl Snapshot {
    /// The same for one of them.
    pub(super) fn hide(&mut self, is_shown: impl Fn(u32) -> bool) {
        for object in &mut self.objects {
            object.visible &= is_shown(object.id);
        }
    }
}

impl ObjectState {
    /// Its left, top, right and bottom edge.
    pub fn edges(&self) -> [f64; 4] {
        let [left, top] =
            [self.x - self.origin[0] * self.width, self.y - self.origin[1] * self.height];
        [left, top, left + self.width, top + self.height]
    }
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn middle() -> [f64; 2] {
    [0.5, 0.5]
}

fn one_each() -> [f64; 2] {
    [1.0, 1.0]
}

fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0
}

fn is_one(value: &f64) -> bool {
    value.to_bits() == 1.0_f64.to_bits()
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn is_no(value: &bool) -> bool {
    !*value
}

fn is_middle(value: &[f64; 2]) -> bool {
    value.map(f64::to_bits) == middle().map(f64::to_bits)
}

fn is_one_each(value: &[f64; 2]) -> bool {
    value.iter().all(is_one)
}
