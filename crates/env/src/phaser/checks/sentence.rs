//! Checks as sentences for people.

use super::rule::{Direction, Rule, Way};
use super::{Check, Window};

impl Check {
    /// The check as a sentence.
    pub fn sentence(&self) -> String {
        let during = match self.during {
            Window { from: 0, to: u32::MAX } => String::new(),
            Window { from, to: u32::MAX } => format!(", from frame {from} on"),
            Window { from, to } => format!(", from frame {from} to {to}"),
        };
        let input = if self.needs_input { ", and not without input" } else { "" };
        format!("{}{during}{input}", self.rule.sentence())
    }
}

impl Rule {
    fn sentence(&self) -> String {
        match self {
            Self::Count { select, at_least, at_most: None } => {
                format!("at least {at_least} {} are shown", select.words())
            }
            Self::Count { select, at_least, at_most: Some(at_most) } => {
                format!("{at_least} to {at_most} {} are shown", select.words())
            }
            Self::CountChanges { select, way, by } => {
                format!("the number of {} {} by {by} or more", select.words(), way.word())
            }
            Self::Moves { select, direction, by, at_least } => format!(
                "at least {at_least} of the {} move {} {by} pixels or more",
                select.words(),
                direction.words()
            ),
            Self::Stops { select, by, frames, below, above } => format!(
                "one of the {} moves {by} pixels or more and then stands still for {frames} frames{}{}",
                select.words(),
                below.map(|y| format!(" at y {y} or below")).unwrap_or_default(),
                above.map(|y| format!(" at y {y} or above")).unwrap_or_default()
            ),
            Self::StaysInside { select, by } => format!(
                "the {} stay inside the game while one moves {by} pixels or more",
                select.words()
            ),
            Self::Bounces { select, direction, times, .. } => format!(
                "one of the {} turns round {times} times or more, moving {}",
                select.words(),
                direction.words()
            ),
            Self::Approaches { first, second, by } => format!(
                "one of the {} comes {by} pixels or more nearer to one of the {}",
                first.words(),
                second.words()
            ),
            Self::Spread { select, at_least, apart } => {
                format!("{} are at {at_least} places or more, {apart} pixels apart", select.words())
            }
            Self::TouchThen { first, second, then, .. } => format!(
                "one of the {} touches one of the {}, and then {}",
                first.words(),
                second.words(),
                then.sentence()
            ),
            _ => self.state_sentence(),
        }
    }

    /// The sentence of a check of what objects show.
    fn state_sentence(&self) -> String {
        match self {
            Self::TextChanges { select } => {
                format!("one of the {} changes its text", select.words())
            }
            Self::TextAppears { contains } => format!("a text with “{contains}” appears"),
            Self::NumberChanges { select, way, by } => {
                format!(
                    "the number in one of the {} {} by {by} or more",
                    select.words(),
                    way.word()
                )
            }
            Self::SceneChanges { to: None } => "another scene runs".to_owned(),
            Self::SceneChanges { to: Some(to) } => format!("the scene “{to}” runs"),
            Self::Rotates { select, by } => {
                format!("one of the {} rotates {by} degrees or more", select.words())
            }
            Self::Fades { select, way, by } => {
                format!(
                    "the opacity of one of the {} {} by {by} or more",
                    select.words(),
                    way.word()
                )
            }
            Self::Scales { select, way, by } => {
                format!(
                    "the size of one of the {} {} by {by} of it or more",
                    select.words(),
                    way.word()
                )
            }
            Self::ColorChanges { select } => {
                format!("one of the {} changes its colour", select.words())
            }
            Self::Animates { select } => {
                format!("one of the {} plays an animation", select.words())
            }
            Self::CameraScrolls { by } => format!("the camera scrolls {by} pixels or more"),
            _ => String::new(),
        }
    }
}

impl Way {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Rises => "rises",
            Self::Falls => "falls",
            Self::Any => "changes",
        }
    }
}

impl Direction {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Up => "up",
            Self::Down => "down",
            Self::Horizontal => "left or right",
            Self::Vertical => "up or down",
            Self::Any => "anywhere",
        }
    }
}
