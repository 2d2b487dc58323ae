//! Checks evaluated over the snapshots of a run.

use whetstone_sandbox::phaser::{ObjectState, Snapshot, Trace};

use super::measure::{Track, change, distance, gap, selected, tracks};
use super::rule::{Rule, Way};
use super::select::Select;
use super::{Check, CheckOutcome, CheckResult, Evidence, Window};

/// Pixels by which an object may be outside of the game's area.
const MARGIN: f64 = 4.0;
/// Objects of each side of which pairs are made.
const PAIRS_MAX: usize = 60;

/// What a check found: nothing to say, or why it is not passed.
type Found = Result<(), String>;

/// The snapshots of a window, and the size of the game.
#[derive(Clone, Copy)]
struct View<'a> {
    shots: &'a [Snapshot],
    size: [f64; 2],
}

impl Check {
    /// Evaluates it.
    pub fn evaluate(&self, evidence: Evidence<'_>) -> CheckResult {
        let (outcome, reason) = self.outcome(evidence);
        CheckResult { check: self.sentence(), outcome, reason }
    }

    fn outcome(&self, evidence: Evidence<'_>) -> (CheckOutcome, Option<String>) {
        let Some(view) = View::of(evidence.trace, self.during) else {
            let reason = "there are too few snapshots in these frames".to_owned();
            return (CheckOutcome::NotMeasurable, Some(reason));
        };
        if let Err(reason) = self.rule.look(view) {
            return (CheckOutcome::Failed, Some(reason));
        }
        if !self.needs_input {
            return (CheckOutcome::Passed, None);
        }
        match evidence.control.and_then(|control| View::of(control, self.during)) {
            None => {
                let reason = "there is no run without input to compare with".to_owned();
                (CheckOutcome::NotMeasurable, Some(reason))
            }
            Some(control) if self.rule.look(control).is_ok() => {
                (CheckOutcome::Failed, Some("it is so without any input, too".to_owned()))
            }
            Some(_) => (CheckOutcome::Passed, None),
        }
    }
}

impl<'a> View<'a> {
    fn of(trace: &'a Trace, during: Window) -> Option<Self> {
        let shots = within(&trace.snapshots, during);
        let size = [trace.width, trace.height];
        (shots.len() >= 2).then_some(Self { shots, size })
    }

    fn first(&self) -> &'a Snapshot {
        &self.shots[0]
    }

    fn last(&self) -> &'a Snapshot {
        &self.shots[self.shots.len() - 1]
    }
}

/// The snapshots in these frames; they are in the order of their frames.
fn within(shots: &[Snapshot], during: Window) -> &[Snapshot] {
    let from = shots.partition_point(|shot| shot.frame < during.from);
    let to = shots.partition_point(|shot| shot.frame <= during.to);
    shots.get(from..to).unwrap_or_default()
}

impl Rule {
    fn look(&self, view: View<'_>) -> Found {
        match self {
            Self::Count { select, at_least, at_most } => {
                count(view, select, *at_least..=at_most.unwrap_or(u32::MAX))
            }
            Self::CountChanges { select, way, by } => {
                #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
                let counts = view.shots.iter().map(|shot| selected(shot, select).len() as f64);
                let counts: Vec<f64> = counts.collect();
                enough(change(&counts, *way), *by, "their number changes by")
            }
            Self::Moves { select, direction, by, at_least } => {
                let all = some(view, select)?;
                let far = all.iter().filter(|track| track.travels(*direction, *by)).count();
                if far >= *at_least as usize {
                    return Ok(());
                }
                let most = most(&all, |track| track.moved(*direction));
                Err(format!("{far} do; the farthest moves {most:.0} pixels"))
            }
            Self::Stops { .. } => self.stops(view),
            Self::StaysInside { select, by } => stays_inside(view, select, *by),
            Self::Bounces { select, direction, times, by } => {
                let turned =
                    some(view, select)?.iter().map(|track| track.turns(*direction, *by)).max();
                let turned = turned.unwrap_or(0);
                if turned >= *times as usize {
                    Ok(())
                } else {
                    Err(format!("it turns {turned} times"))
                }
            }
            Self::Approaches { first, second, by } => approaches(view, [first, second], *by),
            Self::Spread { select, at_least, apart } => spread(view, select, *at_least, *apart),
            Self::TouchThen { first, second, within, then } => {
                touch_then(view, [first, second], *within, then)
            }
            _ => self.look_at_states(view),
        }
    }

    /// Checks of what objects show, and not of where they are.
    fn look_at_states(&self, view: View<'_>) -> Found {
        match self {
            Self::TextChanges { select } => {
                let texts = |track: &Track<'_>| {
                    track.states.iter().any(|(_, state)| state.text != track.states[0].1.text)
                };
                any(view, select, texts, "no text changes")
            }
            Self::TextAppears { contains } => appears(view, contains),
            Self::NumberChanges { select, way, by } => {
                let all = some(view, select)?;
                let most = most(&all, |track| change(&track.numbers(), *way));
                enough(most, *by, "the number changes by")
            }
            Self::SceneChanges { to } => scene_changes(view, to.as_deref()),
            Self::Rotates { select, by } => {
                enough(most(&some(view, select)?, rotated), *by, "it rotates by")
            }
            Self::Fades { select, way, by } => {
                let faded = |track: &Track<'_>| {
                    let opacity =
                        |state: &ObjectState| if state.visible { state.alpha } else { 0.0 };
                    change(&track.values(opacity), *way)
                };
                enough(most(&some(view, select)?, faded), *by, "its opacity changes by")
            }
            Self::Scales { select, way, by } => {
                let scaled = |track: &Track<'_>| scaled(&track.values(size_of), *way);
                enough(most(&some(view, select)?, scaled), *by, "its size changes by")
            }
            Self::ColorChanges { select } => {
                let colors = |track: &Track<'_>| {
                    track.states.iter().any(|(_, state)| state.color != track.states[0].1.color)
                };
                any(view, select, colors, "no colour changes")
            }
            Self::Animates { select } => {
                let plays = |track: &Track<'_>| {
                    track.states.iter().any(|(_, state)| state.animation.is_some())
                };
                any(view, select, plays, "none plays an animation")
            }
            Self::CameraScrolls { by } => {
                let along = |axis: usize| {
                    let scrolls: Vec<f64> =
                        view.shots.iter().map(|shot| shot.scroll[axis]).collect();
                    change(&scrolls, Way::Any)
                };
                enough(along(0).max(along(1)), *by, "it scrolls by")
            }
            _ => Err("there is no such measure".to_owned()),
        }
    }

    fn stops(&self, view: View<'_>) -> Found {
        let Self::Stops { select, by, frames, below, above } = self else { return Ok(()) };
        let last = view.last().frame;
        let mut reason = format!("none moves {by} pixels");
        for track in some(view, select)? {
            if !track.travels(super::Direction::Any, *by) {
                continue;
            }
            let Some(rest) = track.rests(last, *frames) else {
                reason = format!("what moves does not stand still in the last {frames} frames");
                continue;
            };
            let [_, top, _, bottom] = rest.edges();
            if below.is_none_or(|y| bottom + MARGIN >= y) && above.is_none_or(|y| top - MARGIN <= y)
            {
                return Ok(());
            }
            reason = format!("it stops between y {top:.0} and {bottom:.0}");
        }
        Err(reason)
    }
}

fn count(view: View<'_>, select: &Select, wanted: std::ops::RangeInclusive<u32>) -> Found {
    let count = u32::try_from(selected(view.last(), select).len()).unwrap_or(u32::MAX);
    if wanted.contains(&count) { Ok(()) } else { Err(format!("there are {count}")) }
}

/// The objects that are selected, if there are any.
fn some<'a>(view: View<'a>, select: &Select) -> Result<Vec<Track<'a>>, String> {
    let all = tracks(view.shots, select);
    if all.is_empty() { Err(format!("there are no {}", select.words())) } else { Ok(all) }
}

fn most(tracks: &[Track<'_>], value: impl Fn(&Track<'_>) -> f64) -> f64 {
    tracks.iter().map(value).fold(0.0, f64::max)
}

fn enough(found: f64, by: f64, what: &str) -> Found {
    if found >= by { Ok(()) } else { Err(format!("{what} {found:.2} at most")) }
}

fn any(view: View<'_>, select: &Select, is_so: impl Fn(&Track<'_>) -> bool, reason: &str) -> Found {
    if some(view, select)?.iter().any(is_so) { Ok(()) } else { Err(reason.to_owned()) }
}

fn stays_inside(view: View<'_>, select: &Select, by: f64) -> Found {
    let all = some(view, select)?;
    let [width, height] = view.size;
    for (frame, state) in all.iter().flat_map(|track| &track.states) {
        let [left, top, right, bottom] = state.edges();
        let inside = left >= -MARGIN
            && top >= -MARGIN
            && right <= width + MARGIN
            && bottom <= height + MARGIN;
        if state.visible && !inside {
            let (kind, x, y) = (&state.kind, state.x, state.y);
            return Err(format!("a {kind} is at {x:.0}, {y:.0} in frame {frame}"));
        }
    }
    let moved = all.iter().any(|track| track.travels(super::Direction::Any, by));
    if moved { Ok(()) } else { Err(format!("none moves {by} pixels")) }
}

fn approaches(view: View<'_>, [first, second]: [&Select; 2], by: f64) -> Found {
    let (firsts, seconds) = (some(view, first)?, some(view, second)?);
    let mut nearest = 0.0_f64;
    for one in firsts.iter().take(PAIRS_MAX) {
        for other in seconds.iter().take(PAIRS_MAX).filter(|other| other.id != one.id) {
            let apart: Vec<f64> = one
                .states
                .iter()
                .filter_map(|(frame, state)| {
                    let (_, beside) = other.states.iter().find(|(at, _)| at == frame)?;
                    Some(distance([state.x, state.y], [beside.x, beside.y]))
                })
                .collect();
            nearest = nearest.max(change(&apart, Way::Falls));
        }
    }
    enough(nearest, by, "they come nearer by")
}

fn spread(view: View<'_>, select: &Select, at_least: u32, apart: f64) -> Found {
    let mut places: Vec<[f64; 2]> = Vec::new();
    for object in selected(view.last(), select) {
        let place = [object.x, object.y];
        if places.iter().all(|other| distance(*other, place) >= apart) {
            places.push(place);
        }
    }
    let count = places.len();
    if count >= at_least as usize { Ok(()) } else { Err(format!("there are {count} places")) }
}

fn appears(view: View<'_>, words: &str) -> Found {
    let select = Select { text_contains: Some(words.to_owned()), ..Select::default() };
    if !selected(view.first(), &select).is_empty() {
        return Err("it is there from the first frame on".to_owned());
    }
    let there = view.shots.iter().any(|shot| !selected(shot, &select).is_empty());
    if there { Ok(()) } else { Err("there is no such text".to_owned()) }
}

fn scene_changes(view: View<'_>, to: Option<&str>) -> Found {
    let before = &view.first().scenes;
    let is_new = |key: &String| !before.contains(key) && to.is_none_or(|to| to == key);
    let changed = view.shots.iter().any(|shot| shot.scenes.iter().any(is_new));
    if changed { Ok(()) } else { Err(format!("only {} run", before.join(", "))) }
}

fn rotated(track: &Track<'_>) -> f64 {
    track.rotated()
}

fn size_of(state: &ObjectState) -> f64 {
    if state.width > 0.0 { state.width } else { state.scale[0].abs() }
}

/// The change of a size, as a part of what it was.
fn scaled(sizes: &[f64], way: Way) -> f64 {
    let logs: Vec<f64> = sizes.iter().map(|size| size.max(1e-3).ln()).collect();
    let rises = change(&logs, Way::Rises).exp() - 1.0;
    let falls = 1.0 - (-change(&logs, Way::Falls)).exp();
    match way {
        Way::Rises => rises,
        Way::Falls => falls,
        Way::Any => rises.max(falls),
    }
}

/// Two objects touch, and from the snapshot before on, `then` is seen.
fn touch_then(view: View<'_>, selects: [&Select; 2], within_pixels: f64, then: &Check) -> Found {
    let mut reason = "they never touch".to_owned();
    for (at, shot) in view.shots.iter().enumerate() {
        if !touch(shot, selects, within_pixels) {
            continue;
        }
        let after = within(&view.shots[at.saturating_sub(1)..], then.during);
        if after.len() < 2 {
            continue;
        }
        match then.rule.look(View { shots: after, ..view }) {
            Ok(()) => return Ok(()),
            Err(problem) => reason = format!("they touch in frame {}, but {problem}", shot.frame),
        }
    }
    Err(reason)
}

fn touch(shot: &Snapshot, [first, second]: [&Select; 2], within_pixels: f64) -> bool {
    let (firsts, seconds) = (selected(shot, first), selected(shot, second));
    let touches = |one: &ObjectState, other: &ObjectState| {
        one.id != other.id && gap(one, other) <= within_pixels
    };
    let mut firsts = firsts.iter().take(PAIRS_MAX);
    firsts.any(|one| seconds.iter().take(PAIRS_MAX).any(|other| touches(one, other)))
}
