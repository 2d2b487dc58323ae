//! The pages of the stages that have one: those that train.

use whetstone_record::report::{self, PageRequest};
use whetstone_record::run_dir::{RunDir, RunView};
use whetstone_record::stages::{STAGES_DIR, Stages};

use crate::failure::Failure;

/// Writes the page of every training among the stages of a run, which the run's own page links to.
///
/// # Errors
///
/// If a stage cannot be read, or its page cannot be written.
pub fn write_stage_pages(view: &RunView) -> Result<(), Failure> {
    let folder = view.dir().join(STAGES_DIR);
    for stage in Stages::load(view)?.into_iter().flat_map(|stages| stages.stages) {
        if let Ok(view) = RunDir::open_read_only(&folder, &stage.name) {
            let out = report::default_path(&view);
            report::write(&view, PageRequest::default(), &out, &mut |_, _| ())?;
        }
    }
    Ok(())
}
