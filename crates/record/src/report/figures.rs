//! pass@k before and after training, where the run has measured it: `quickstart.json`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{FileError, ViewError};
use crate::plain_file::read_plain;
use crate::run_dir::RunView;

const FILE: &str = "quickstart.json";
const VERSION: u64 = 1;
const MAX_BYTES: u64 = 1 << 20;

/// The fields of the file that a page shows. Other fields are ignored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QuickstartFigures {
    #[serde(rename = "type", default = "kind", skip_deserializing)]
    kind: &'static str,
    #[serde(skip_serializing)]
    v: u64,
    samples: u64,
    temperature: f64,
    pass_at_k: BTreeMap<String, BeforeAfter>,
    /// pass@1 by temperature; none in a file from before several were measured.
    #[serde(default)]
    by_temperature: BTreeMap<String, BeforeAfter>,
    #[serde(default)]
    better_temperature: Option<BetterTemperature>,
    before: SideFigures,
    after: SideFigures,
    times: PhaseTimes,
}

#[derive(Debug, Serialize, Deserialize)]
struct BeforeAfter {
    before: IntervalEstimate,
    after: IntervalEstimate,
    difference: IntervalEstimate,
}

/// pass@1 at the better temperature of each side.
#[derive(Debug, Serialize, Deserialize)]
struct BetterTemperature {
    before: String,
    after: String,
    gain: BeforeAfter,
}

/// A figure with its interval of 95 %.
#[derive(Debug, Serialize, Deserialize)]
struct IntervalEstimate {
    value: f64,
    low: f64,
    high: f64,
    tasks: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct SideFigures {
    verdicts: BTreeMap<String, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PhaseTimes {
    seconds: BTreeMap<String, f64>,
}

fn kind() -> &'static str {
    "figures"
}

/// The figures of a run, if it has any, with a crc by which a change is seen.
pub(super) fn read(view: &RunView) -> Result<Option<(QuickstartFigures, u32)>, ViewError> {
    let path = path(view);
    let text = match read_plain(&path, MAX_BYTES) {
        Ok(text) => text,
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(FileError::at("read", &path)(err).into()),
    };
    let wrong = |problem| ViewError::Figures { path: path.clone(), problem };
    let figures: QuickstartFigures =
        serde_json::from_slice(&text).map_err(|err| wrong(err.to_string()))?;
    if figures.v != VERSION {
        return Err(wrong(format!("it has version {}, this whet reads {VERSION}", figures.v)));
    }
    Ok(Some((figures, crc32fast::hash(&text))))
}

/// The path of a run's figures.
pub(super) fn path(view: &RunView) -> PathBuf {
    view.dir().join(FILE)
}
