//! What a check can ask for.

use serde::{Deserialize, Serialize};

use super::Check;
use super::select::Select;

/// What must be seen.
#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// So many objects are there in the last frame.
    Count {
        /// Which objects.
        select: Select,
        /// This many or more.
        at_least: u32,
        /// This many or fewer.
        at_most: Option<u32>,
    },
    /// The number of objects rises or falls.
    CountChanges {
        /// Which objects.
        select: Select,
        /// Rises or falls.
        way: Way,
        /// By so many.
        by: f64,
    },
    /// An object moves.
    Moves {
        /// Which objects.
        select: Select,
        /// Where to.
        direction: Direction,
        /// So many pixels.
        by: f64,
        /// So many objects do.
        at_least: u32,
    },
    /// An object moves and then stands still until the end.
    Stops {
        /// Which objects.
        select: Select,
        /// Pixels that it moves before.
        by: f64,
        /// Frames that it stands still for.
        frames: u32,
        /// Its lower edge is then at or below this.
        below: Option<f64>,
        /// Its upper edge is then at or above this.
        above: Option<f64>,
    },
    /// All objects stay in the game's area, and one of them moves.
    StaysInside {
        /// Which objects.
        select: Select,
        /// Pixels that one moves.
        by: f64,
    },
    /// An object turns round so often.
    Bounces {
        /// Which objects.
        select: Select,
        /// Along which axis.
        direction: Direction,
        /// How often.
        times: u32,
        /// Pixels that it moves between two turns.
        by: f64,
    },
    /// An object comes nearer to another.
    Approaches {
        /// Which objects.
        first: Select,
        /// Which others.
        second: Select,
        /// By so many pixels.
        by: f64,
    },
    /// Objects are at so many different places.
    Spread {
        /// Which objects.
        select: Select,
        /// How many places.
        at_least: u32,
        /// Pixels between two places.
        apart: f64,
    },
    /// A text changes.
    TextChanges {
        /// Which texts.
        select: Select,
    },
    /// A text with these words appears.
    TextAppears {
        /// The words.
        contains: String,
    },
    /// The number in a text rises or falls.
    NumberChanges {
        /// Which texts.
        select: Select,
        /// Rises or falls.
        way: Way,
        /// By so much.
        by: f64,
    },
    /// Another scene runs.
    SceneChanges {
        /// Its key.
        to: Option<String>,
    },
    /// An object rotates.
    Rotates {
        /// Which objects.
        select: Select,
        /// By so many degrees.
        by: f64,
    },
    /// An object becomes more or less opaque.
    Fades {
        /// Which objects.
        select: Select,
        /// Rises or falls.
        way: Way,
        /// By so much of 1.
        by: f64,
    },
    /// An object becomes larger or smaller.
    Scales {
        /// Which objects.
        select: Select,
        /// Rises or falls.
        way: Way,
        /// By this part of its size.
        by: f64,
    },
    /// An object changes its colour or tint.
    ColorChanges {
        /// Which objects.
        select: Select,
    },
    /// An object plays an animation.
    Animates {
        /// Which objects.
        select: Select,
    },
    /// The camera scrolls.
    CameraScrolls {
        /// By so many pixels.
        by: f64,
    },
    /// Two objects touch, and from then on something else is seen.
    TouchThen {
        /// Which objects.
        first: Select,
        /// Which others.
        second: Select,
        /// Pixels that still count as a touch.
        within: f64,
        /// What is seen.
        then: Box<Check>,
    },
}

/// Where an object moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Up.
    Up,
    /// Down.
    Down,
    /// To the left or to the right.
    Horizontal,
    /// Up or down.
    Vertical,
    /// Anywhere.
    #[default]
    Any,
}

/// How a number changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// It becomes larger.
    Rises,
    /// It becomes smaller.
    Falls,
    /// Either.
    #[default]
    Any,
}
