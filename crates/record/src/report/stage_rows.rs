//! The stages of a run over several of them, as its page shows them.

use serde::Serialize;

use super::page::PageForm;
use crate::error::ViewError;
use crate::run_dir::RunView;
use crate::stages::{STAGES_DIR, StageFigure, StageState, Stages, stage_dir};

/// The page of a training, in its run.
const PAGE: &str = "report.html";

/// A record of the feed.
#[derive(Debug, Serialize)]
pub(super) struct StageRows {
    #[serde(rename = "type")]
    kind: &'static str,
    stages: Vec<StageRow>,
}

#[derive(Debug, Serialize)]
struct StageRow {
    name: String,
    kind: String,
    state: StageState,
    seconds: f64,
    inputs: Vec<[String; 2]>,
    figures: Vec<StageFigure>,
    /// The stage's own page beside this one, if it has one.
    page: Option<String>,
}

/// The stages of a run, if it has any, with a crc by which a change is seen.
pub(super) fn read(view: &RunView, form: PageForm) -> Result<Option<(StageRows, u32)>, ViewError> {
    let Some(Stages { stages, .. }) = Stages::load(view)? else { return Ok(None) };
    let row = |stage: crate::stages::StageRecord| {
        let page = stage_dir(view.dir(), &stage.name).join(PAGE);
        // A page that is served stands alone.
        let page = (form == PageForm::File && is_plain(&stage.name) && page.is_file())
            .then(|| format!("{STAGES_DIR}/{}/{PAGE}", stage.name));
        StageRow {
            inputs: stage.inputs.into_iter().map(|input| [input.what, input.path]).collect(),
            name: stage.name,
            kind: stage.kind,
            state: stage.state,
            seconds: stage.seconds,
            figures: stage.figures,
            page,
        }
    };
    let rows = StageRows { kind: "stages", stages: stages.into_iter().map(row).collect() };
    let text = serde_json::to_vec(&rows).unwrap_or_default();
    Ok(Some((rows, crc32fast::hash(&text))))
}

/// Whether a name can be a part of a link: a file of a stranger may have any.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
