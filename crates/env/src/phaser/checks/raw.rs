//! Checks as they are written in files: one flat object each, in which only the fields of its kind may
//! stand.
// size: one table of kinds, read and written in one place each.

use serde::{Deserialize, Serialize};
use whetstone_sandbox::phaser::InputScript;

use super::rule::{Direction, Rule, Way};
use super::select::Select;
use super::{CHECKS_MAX, Check, FRAMES, FRAMES_MAX, GameTask, Window};

/// Why checks cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// There is no such kind.
    #[error("`{0}` is no kind of check; the kinds are {kinds}", kinds = KINDS.map(|kind| kind.0).join(", "))]
    UnknownKind(String),
    /// A field does not belong to the kind.
    #[error("a check of kind `{kind}` has no `{field}`")]
    Field {
        /// The kind.
        kind: String,
        /// The field.
        field: &'static str,
    },
    /// A field is missing.
    #[error("a check of kind `{kind}` needs `{field}`")]
    Missing {
        /// The kind.
        kind: String,
        /// The field.
        field: &'static str,
    },
    /// A number is out of bounds.
    #[error("`{field}` of a check must be {bounds}")]
    Number {
        /// The field.
        field: &'static str,
        /// What it must be.
        bounds: &'static str,
    },
    /// A class does not exist.
    #[error("`{0}` is no type of object: write a class of Phaser's, shape, picture, text or thing")]
    UnknownType(String),
    /// The task itself is wrong.
    #[error("{0}")]
    Task(String),
}

/// Each kind with the fields that it has beside `during` and `needs_input`.
const KINDS: [(&str, &[&str]); 20] = [
    ("count", &["select", "at_least", "at_most"]),
    ("count_changes", &["select", "way", "by"]),
    ("moves", &["select", "direction", "by", "at_least"]),
    ("stops", &["select", "by", "frames", "below", "above"]),
    ("stays_inside", &["select", "by"]),
    ("bounces", &["select", "direction", "times", "by"]),
    ("approaches", &["first", "second", "by"]),
    ("spread", &["select", "at_least", "apart"]),
    ("text_changes", &["select"]),
    ("text_appears", &["contains"]),
    ("number_rises", &["select", "by"]),
    ("number_changes", &["select", "way", "by"]),
    ("scene_changes", &["to"]),
    ("rotates", &["select", "by"]),
    ("fades", &["select", "way", "by"]),
    ("scales", &["select", "way", "by"]),
    ("color_changes", &["select"]),
    ("animates", &["select"]),
    ("camera_scrolls", &["by"]),
    ("touch_then", &["first", "second", "within", "then"]),
];

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTask {
    #[serde(default = "frames")]
    frames: u32,
    #[serde(default)]
    input: InputScript,
    checks: Vec<Check>,
}

fn frames() -> u32 {
    FRAMES
}

/// Defines the flat object, with every field but `kind` left out where it has no value.
macro_rules! raw {
    ($($field:ident: $type:ty,)*) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct RawCheck {
            kind: String,
            $(#[serde(default, skip_serializing_if = "Option::is_none")] $field: Option<$type>,)*
        }

        impl RawCheck {
            /// The names of the fields that have a value.
            fn given(&self) -> Vec<&'static str> {
                let mut given = Vec::new();
                $(if self.$field.is_some() { given.push(stringify!($field)); })*
                given
            }
        }
    };
}

raw! {
    select: Select,
    first: Select,
    second: Select,
    direction: Direction,
    way: Way,
    by: f64,
    at_least: u32,
    at_most: u32,
    times: u32,
    frames: u32,
    below: f64,
    above: f64,
    apart: f64,
    within: f64,
    contains: String,
    to: String,
    then: Box<Check>,
    during: Window,
    needs_input: bool,
}

impl TryFrom<RawTask> for GameTask {
    type Error = CheckError;

    fn try_from(raw: RawTask) -> Result<Self, CheckError> {
        Self::new(raw.frames, raw.input, raw.checks)
    }
}

impl From<GameTask> for RawTask {
    fn from(task: GameTask) -> Self {
        Self { frames: task.frames, input: task.input, checks: task.checks }
    }
}

impl TryFrom<RawCheck> for Check {
    type Error = CheckError;

    fn try_from(mut raw: RawCheck) -> Result<Self, CheckError> {
        let kind = raw.kind.clone();
        let Some((_, fields)) = KINDS.iter().find(|known| known.0 == kind) else {
            return Err(CheckError::UnknownKind(kind));
        };
        let own =
            |field: &&&str| !fields.contains(*field) && !["during", "needs_input"].contains(*field);
        if let Some(field) = raw.given().iter().find(|field| own(field)) {
            return Err(CheckError::Field { kind, field });
        }
        let (during, needs_input) =
            (raw.during.take().unwrap_or_default(), raw.needs_input.unwrap_or(false));
        if during.from >= during.to {
            return Err(CheckError::Number {
                field: "during",
                bounds: "from a frame to a later one",
            });
        }
        let check = Self { rule: rule(raw)?, during, needs_input };
        check.rule.types().map_or(Ok(check.clone()), |name| Err(CheckError::UnknownType(name)))
    }
}

impl From<Check> for RawCheck {
    fn from(check: Check) -> Self {
        let during = (check.during != Window::default()).then_some(check.during);
        let needs_input = check.needs_input.then_some(true);
        Self { during, needs_input, ..written(check.rule) }
    }
}

/// A rule as it is written.
fn written(rule: Rule) -> RawCheck {
    let usual = RawCheck::default();
    let of = |kind: &str| kind.to_owned();
    let one = |kind: &str, select| RawCheck {
        kind: of(kind),
        select: Some(select),
        ..RawCheck::default()
    };
    match rule {
        Rule::Count { select, at_least, at_most } => {
            RawCheck { at_least: Some(at_least), at_most, ..one("count", select) }
        }
        Rule::CountChanges { select, way, by } => {
            RawCheck { way: Some(way), by: Some(by), ..one("count_changes", select) }
        }
        Rule::Moves { select, direction, by, at_least } => RawCheck {
            direction: Some(direction),
            by: Some(by),
            at_least: Some(at_least),
            ..one("moves", select)
        },
        Rule::Stops { select, by, frames, below, above } => {
            RawCheck { by: Some(by), frames: Some(frames), below, above, ..one("stops", select) }
        }
        Rule::StaysInside { select, by } => {
            RawCheck { by: Some(by), ..one("stays_inside", select) }
        }
        Rule::Bounces { select, direction, times, by } => RawCheck {
            direction: Some(direction),
            times: Some(times),
            by: Some(by),
            ..one("bounces", select)
        },
        Rule::Approaches { first, second, by } => RawCheck {
            kind: of("approaches"),
            first: Some(first),
            second: Some(second),
            by: Some(by),
            ..usual
        },
        Rule::Spread { select, at_least, apart } => {
            RawCheck { at_least: Some(at_least), apart: Some(apart), ..one("spread", select) }
        }
        Rule::TextChanges { select } => one("text_changes", select),
        Rule::TextAppears { contains } => {
            RawCheck { kind: of("text_appears"), contains: Some(contains), ..usual }
        }
        Rule::NumberChanges { select, way, by } => {
            RawCheck { way: Some(way), by: Some(by), ..one("number_changes", select) }
        }
        Rule::SceneChanges { to } => RawCheck { kind: of("scene_changes"), to, ..usual },
        Rule::Rotates { select, by } => RawCheck { by: Some(by), ..one("rotates", select) },
        Rule::Fades { select, way, by } => {
            RawCheck { way: Some(way), by: Some(by), ..one("fades", select) }
        }
        Rule::Scales { select, way, by } => {
            RawCheck { way: Some(way), by: Some(by), ..one("scales", select) }
        }
        Rule::ColorChanges { select } => one("color_changes", select),
        Rule::Animates { select } => one("animates", select),
        Rule::CameraScrolls { by } => {
            RawCheck { kind: of("camera_scrolls"), by: Some(by), ..usual }
        }
        Rule::TouchThen { first, second, within, then } => RawCheck {
            kind: of("touch_then"),
            first: Some(first),
            second: Some(second),
            within: Some(within),
            then: Some(then),
            ..usual
        },
    }
}

fn rule(raw: RawCheck) -> Result<Rule, CheckError> {
    let kind = raw.kind.clone();
    let missing = |field| CheckError::Missing { kind: kind.clone(), field };
    let select = raw.select.clone().unwrap_or_default();
    let pixels = |usual: f64| positive("by", raw.by.unwrap_or(usual));
    let some = |field, number: Option<u32>, usual: u32| match number.unwrap_or(usual) {
        number @ 1..=200 => Ok(number),
        _ => Err(CheckError::Number { field, bounds: "from 1 to 200" }),
    };
    let way = raw.way.unwrap_or_default();
    Ok(match kind.as_str() {
        "count" => {
            let at_least = some("at_least", raw.at_least, 1)?;
            if raw.at_most.is_some_and(|at_most| at_most < at_least) {
                return Err(CheckError::Number { field: "at_most", bounds: "`at_least` or more" });
            }
            Rule::Count { select, at_least, at_most: raw.at_most }
        }
        "count_changes" => Rule::CountChanges { select, way, by: pixels(1.0)? },
        "moves" => Rule::Moves {
            select,
            direction: raw.direction.unwrap_or_default(),
            by: pixels(20.0)?,
            at_least: some("at_least", raw.at_least, 1)?,
        },
        "stops" => Rule::Stops {
            select,
            by: pixels(20.0)?,
            frames: some("frames", raw.frames, 20)?,
            below: raw.below,
            above: raw.above,
        },
        "stays_inside" => Rule::StaysInside { select, by: pixels(20.0)? },
        "bounces" => Rule::Bounces {
            select,
            direction: raw.direction.unwrap_or_default(),
            times: some("times", raw.times, 1)?,
            by: pixels(10.0)?,
        },
        "approaches" => Rule::Approaches {
            first: raw.first.ok_or_else(|| missing("first"))?,
            second: raw.second.ok_or_else(|| missing("second"))?,
            by: pixels(20.0)?,
        },
        "spread" => Rule::Spread {
            select,
            at_least: some("at_least", Some(raw.at_least.ok_or_else(|| missing("at_least"))?), 2)?,
            apart: positive("apart", raw.apart.unwrap_or(10.0))?,
        },
        "text_changes" => Rule::TextChanges { select },
        "text_appears" => {
            let contains = raw.contains.ok_or_else(|| missing("contains"))?;
            if contains.trim().is_empty() || contains.len() > 100 {
                return Err(CheckError::Number {
                    field: "contains",
                    bounds: "1 to 100 characters long",
                });
            }
            Rule::TextAppears { contains }
        }
        "number_rises" => Rule::NumberChanges { select, way: Way::Rises, by: pixels(1.0)? },
        "number_changes" => Rule::NumberChanges { select, way, by: pixels(1.0)? },
        "scene_changes" => Rule::SceneChanges { to: raw.to },
        "rotates" => Rule::Rotates { select, by: pixels(30.0)? },
        "fades" => Rule::Fades { select, way, by: pixels(0.3)? },
        "scales" => Rule::Scales { select, way, by: pixels(0.2)? },
        "color_changes" => Rule::ColorChanges { select },
        "animates" => Rule::Animates { select },
        "camera_scrolls" => Rule::CameraScrolls { by: pixels(20.0)? },
        _ => return touch_then(raw),
    })
}

fn touch_then(raw: RawCheck) -> Result<Rule, CheckError> {
    let missing = |field| CheckError::Missing { kind: raw.kind.clone(), field };
    let then = raw.then.ok_or_else(|| missing("then"))?;
    if matches!(then.rule, Rule::TouchThen { .. }) || then.needs_input {
        let problem = "`then` is a check of another kind, without `needs_input`";
        return Err(CheckError::Task(problem.to_owned()));
    }
    Ok(Rule::TouchThen {
        first: raw.first.ok_or_else(|| missing("first"))?,
        second: raw.second.ok_or_else(|| missing("second"))?,
        within: positive("within", raw.within.unwrap_or(40.0))?,
        then,
    })
}

fn positive(field: &'static str, number: f64) -> Result<f64, CheckError> {
    if number > 0.0 && number <= 1e4 {
        return Ok(number);
    }
    Err(CheckError::Number { field, bounds: "above 0 and at most 10000" })
}

/// Whether a task can be evaluated at all.
pub(super) fn validate(
    frames: u32,
    input: &InputScript,
    checks: &[Check],
) -> Result<(), CheckError> {
    let wrong = |problem: String| Err(CheckError::Task(problem));
    if !(10..=FRAMES_MAX).contains(&frames) {
        return wrong(format!("a task runs for 10 to {FRAMES_MAX} frames, not {frames}"));
    }
    if checks.len() > CHECKS_MAX {
        return wrong(format!("a task has at most {CHECKS_MAX} checks, not {}", checks.len()));
    }
    if let Some(event) =
        input.events().iter().find(|event| event.frame == 0 || event.frame >= frames)
    {
        return wrong(format!(
            "input in frame {}: the frames are 1 to {}",
            event.frame,
            frames - 1
        ));
    }
    if input.events().is_empty() && checks.iter().any(|check| check.needs_input) {
        return wrong("a check has `needs_input`, and the task has no `input`".to_owned());
    }
    let late = checks.iter().find(|check| check.during.from >= frames);
    late.map_or(Ok(()), |check| {
        wrong(format!("a check begins in frame {}, after the last one", check.during.from))
    })
}

impl Rule {
    /// A type of a selection that does not exist.
    fn types(&self) -> Option<String> {
        self.selects().into_iter().find_map(Select::unknown_type).map(str::to_owned)
    }

    fn selects(&self) -> Vec<&Select> {
        match self {
            Self::Count { select, .. }
            | Self::CountChanges { select, .. }
            | Self::Moves { select, .. }
            | Self::Stops { select, .. }
            | Self::StaysInside { select, .. }
            | Self::Bounces { select, .. }
            | Self::Spread { select, .. }
            | Self::TextChanges { select }
            | Self::NumberChanges { select, .. }
            | Self::Rotates { select, .. }
            | Self::Fades { select, .. }
            | Self::Scales { select, .. }
            | Self::ColorChanges { select }
            | Self::Animates { select } => vec![select],
            Self::Approaches { first, second, .. } | Self::TouchThen { first, second, .. } => {
                vec![first, second]
            }
            Self::TextAppears { .. } | Self::SceneChanges { .. } | Self::CameraScrolls { .. } => {
                Vec::new()
            }
        }
    }
}
