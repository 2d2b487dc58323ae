//! The event file for TensorBoard that a run writes while it trains (`run.tensorboard`).

use whetstone_core::config::Config;
use whetstone_record::error::ViewError;
use whetstone_record::event_file::{EventFile, FOLDER};
use whetstone_record::run_dir::RunView;

use crate::watch::Warning;

/// The code of a warning that the file cannot be written.
const CODE: &str = "tensorboard";

/// A file that gets every recorded step, if it is wanted.
#[derive(Debug)]
pub(super) struct LiveMetrics {
    is_wanted: bool,
    file: Option<EventFile>,
}

impl LiveMetrics {
    pub(super) fn new(config: &Config) -> Self {
        Self { is_wanted: config.run.tensorboard, file: None }
    }

    /// Brings the file up to date. A file that cannot be written is given up, with a warning: it can be made again
    /// from the events, and is not worth a training.
    pub(super) fn follow(&mut self, view: &RunView) -> Option<Warning> {
        if !self.is_wanted {
            return None;
        }
        let err = self.write(view).err()?;
        self.is_wanted = false;
        let cause = std::error::Error::source(&err).map(|cause| format!(": {cause}"));
        let message = format!(
            "the event file for TensorBoard is not written any more: {err}{}; `whet runs tensorboard` makes it later",
            cause.unwrap_or_default()
        );
        Some(Warning { code: CODE.to_owned(), message })
    }

    fn write(&mut self, view: &RunView) -> Result<(), ViewError> {
        if self.file.is_none() {
            self.file = Some(EventFile::new(view, &view.dir().join(FOLDER))?);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.follow(view))
    }
}
