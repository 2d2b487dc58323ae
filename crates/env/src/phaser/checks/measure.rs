//! Objects followed through snapshots, and what is measured of them.

use std::collections::BTreeMap;

use whetstone_sandbox::phaser::{ObjectState, Snapshot};

use super::rule::{Direction, Way};
use super::select::Select;

/// Pixels that an object moves at most while it stands still.
const STILL: f64 = 3.0;
/// Snapshots between which an object moves, at least: what is put elsewhere at once does not move.
const STEPS_MIN: usize = 3;
/// Pixels of one step.
const STEP: f64 = 0.5;

/// One object in the snapshots that it is in.
pub(super) struct Track<'a> {
    pub(super) id: u32,
    pub(super) states: Vec<(u32, &'a ObjectState)>,
}

/// The objects that are selected in some snapshot, in all snapshots that they are in.
pub(super) fn tracks<'a>(shots: &'a [Snapshot], select: &Select) -> Vec<Track<'a>> {
    let mut tracks = BTreeMap::<u32, Track<'a>>::new();
    let mut taken = std::collections::BTreeSet::new();
    for shot in shots {
        for object in &shot.objects {
            let track = tracks
                .entry(object.id)
                .or_insert_with(|| Track { id: object.id, states: Vec::new() });
            track.states.push((shot.frame, object));
            if select.takes(object) {
                taken.insert(object.id);
            }
        }
    }
    tracks.into_values().filter(|track| taken.contains(&track.id)).collect()
}

/// The selected objects of one snapshot.
pub(super) fn selected<'a>(shot: &'a Snapshot, select: &Select) -> Vec<&'a ObjectState> {
    shot.objects.iter().filter(|object| select.takes(object)).collect()
}

impl Track<'_> {
    /// Its places while it is to be seen.
    fn places(&self) -> Vec<[f64; 2]> {
        let seen = self.states.iter().filter(|(_, state)| state.visible);
        seen.map(|(_, state)| [state.x, state.y]).collect()
    }

    /// Pixels that it moves in a direction, at most, from one place to a later one.
    pub(super) fn moved(&self, direction: Direction) -> f64 {
        let places = self.places();
        let [xs, ys] =
            [0, 1].map(|axis| places.iter().map(|place| place[axis]).collect::<Vec<_>>());
        match direction {
            Direction::Right => change(&xs, Way::Rises),
            Direction::Left => change(&xs, Way::Falls),
            Direction::Down => change(&ys, Way::Rises),
            Direction::Up => change(&ys, Way::Falls),
            Direction::Horizontal => change(&xs, Way::Any),
            Direction::Vertical => change(&ys, Way::Any),
            Direction::Any => change(&xs, Way::Any).max(change(&ys, Way::Any)),
        }
    }

    /// Snapshots between which it moves.
    fn steps(&self) -> usize {
        let far = |pair: &[[f64; 2]]| distance(pair[0], pair[1]) > STEP;
        self.places().windows(2).filter(|pair| far(pair)).count()
    }

    /// Whether it moves, step by step.
    pub(super) fn travels(&self, direction: Direction, by: f64) -> bool {
        self.moved(direction) >= by && self.steps() >= STEPS_MIN.min(self.states.len() - 1)
    }

    /// Where it stands in the last frames, if it stands still there.
    pub(super) fn rests(&self, last: u32, frames: u32) -> Option<&ObjectState> {
        let end = self.states.iter().filter(|(frame, _)| *frame + frames >= last);
        let end: Vec<_> = end.map(|(_, state)| *state).collect();
        let state = end.last().filter(|_| end.len() >= 3)?;
        let near = |other: &&ObjectState| {
            (other.x - state.x).abs() <= STILL && (other.y - state.y).abs() <= STILL
        };
        (end.iter().all(near) && state.visible).then_some(state)
    }

    /// How often it turns round along an axis, having moved so far between two turns.
    pub(super) fn turns(&self, direction: Direction, by: f64) -> usize {
        let places = self.places();
        let along =
            |axis: usize| turns(&places.iter().map(|place| place[axis]).collect::<Vec<_>>(), by);
        match direction {
            Direction::Left | Direction::Right | Direction::Horizontal => along(0),
            Direction::Up | Direction::Down | Direction::Vertical => along(1),
            Direction::Any => along(0).max(along(1)),
        }
    }

    /// Degrees that it rotates, all turns together.
    pub(super) fn rotated(&self) -> f64 {
        let turn = |pair: &[(u32, &ObjectState)]| {
            let turn = (pair[1].1.rotation - pair[0].1.rotation).rem_euclid(std::f64::consts::TAU);
            turn.min(std::f64::consts::TAU - turn)
        };
        self.states.windows(2).map(turn).sum::<f64>().to_degrees()
    }

    /// A number of each state.
    pub(super) fn values(&self, value: impl Fn(&ObjectState) -> f64) -> Vec<f64> {
        self.states.iter().map(|(_, state)| value(state)).collect()
    }

    /// The number in its text, in each state that has one.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let number = |(_, state): &(u32, &ObjectState)| number(state.text.as_deref()?);
        self.states.iter().filter_map(number).collect()
    }
}

/// How much a number changes, at most, from one value to a later one.
pub(super) fn change(values: &[f64], way: Way) -> f64 {
    let rise = |values: &mut dyn Iterator<Item = f64>| {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values {
            least = least.min(value);
            most = most.max(value - least);
        }
        most
    };
    let rises = rise(&mut values.iter().copied());
    let falls = rise(&mut values.iter().map(|value| -value));
    match way {
        Way::Rises => rises,
        Way::Falls => falls,
        Way::Any => rises.max(falls),
    }
}

fn turns(values: &[f64], by: f64) -> usize {
    let Some(first) = values.first() else { return 0 };
    let (mut extreme, mut heading, mut turns) = (*first, 0.0_f64, 0);
    for value in values {
        let moved = value - extreme;
        if heading == 0.0 {
            if moved.abs() >= by {
                (heading, extreme) = (moved.signum(), *value);
            }
        } else if moved * heading > 0.0 {
            extreme = *value;
        } else if moved.abs() >= by {
            (heading, extreme) = (-heading, *value);
            turns += 1;
        }
    }
    turns
}

/// The first number in a text.
fn number(text: &str) -> Option<f64> {
    let start = text.find(|letter: char| letter.is_ascii_digit())?;
    let digits =
        text[start..].split(|letter: char| !letter.is_ascii_digit() && letter != '.').next()?;
    let number: f64 = digits.trim_end_matches('.').parse().ok()?;
    Some(if text[..start].ends_with('-') { -number } else { number })
}

pub(super) fn distance(from: [f64; 2], to: [f64; 2]) -> f64 {
    (from[0] - to[0]).hypot(from[1] - to[1])
}

/// Pixels between the edges of two objects; 0 where they overlap.
pub(super) fn gap(first: &ObjectState, second: &ObjectState) -> f64 {
    let (a, b) = (first.edges(), second.edges());
    let apart = |low: usize, high: usize| (b[low] - a[high]).max(a[low] - b[high]).max(0.0);
    apart(0, 2).hypot(apart(1, 3))
}
