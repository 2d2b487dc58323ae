//! A batch that could not be learnt from, kept for a replay.

use std::path::PathBuf;

use serde::Serialize;
use whetstone_record::atomic;

use super::Session;
use crate::error::TrainError;

/// The batch, as it is kept.
#[derive(Serialize)]
struct SavedBatch<'a, T> {
    v: u64,
    stage: &'static str,
    step: u64,
    problem: &'a str,
    #[serde(flatten)]
    batch: T,
}

impl Session {
    /// Says of non-finite values where their batch is: it is kept, for a replay.
    pub(crate) fn with_batch<T: Serialize>(
        &self,
        err: TrainError,
        step: u64,
        batch: impl FnOnce() -> T,
    ) -> TrainError {
        let what = match err {
            TrainError::Algo(err) => err.to_string(),
            TrainError::NoNumber(what) => what,
            other => return other,
        };
        let kept = SavedBatch { v: 1, stage: self.stage, step, problem: &what, batch: batch() };
        match self.keep_batch(step, &kept) {
            Ok(saved) => TrainError::NotFinite { step, what, saved },
            Err(err) => err,
        }
    }

    fn keep_batch(&self, step: u64, batch: &impl Serialize) -> Result<PathBuf, TrainError> {
        let path = self.run.view().logs_dir().join(format!("batch-of-step-{step}.json"));
        let text = serde_json::to_vec(batch).expect("plain data");
        atomic::replace(&path, &text)?;
        Ok(path)
    }
}
