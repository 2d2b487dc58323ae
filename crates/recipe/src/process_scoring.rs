//! Transitions of a file scored by a trained process reward model, and what that is worth.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use whetstone_algo::binary::{Labelled, figures};
use whetstone_core::config::{Config, DeviceChoice};
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_record::atomic;
use whetstone_train::TrainError;
use whetstone_train::process_reward::{
    LabelledEpisode, ProcessModel, TokenTransition, TransitionFigures, read_episodes,
    score_transitions, token_transitions,
};
use whetstone_train::reward_model::Estimate;

use crate::device;
use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;

/// What to score, and by whom.
#[derive(Debug, Clone)]
pub struct ProcessScoreRequest {
    /// The process reward model: a run, or a directory.
    pub process_model: String,
    /// The files of episodes.
    pub episodes: Vec<PathBuf>,
    /// The file for the probabilities.
    pub out: Option<PathBuf>,
    /// Transitions at a time.
    pub batch: usize,
    /// The device.
    pub device: DeviceChoice,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
}

/// Scores the transitions of files.
///
/// # Errors
///
/// If the model, its base or the episodes cannot be used, or the device fails.
pub fn run(
    request: &ProcessScoreRequest,
    observer: &dyn Observer,
) -> Result<TransitionFigures, Failure> {
    let config = Config::default();
    let read = read_episodes(&request.episodes)?;
    let found = find(&request.process_model, &Around::of(&config, observer))?;
    let dir = found.adapter.as_deref().unwrap_or(Path::new(&request.process_model));
    let model = found.open()?;
    let name = found.model.display().to_string();
    let process = ProcessModel::open(dir, &model, &name).map_err(TrainError::from)?;
    let limit = process.facts().max_length.min(model.config.positions);
    let made = token_transitions(&model, &read.episodes, limit)?;
    let device = device::choose(request.device, request.threads, observer)?;
    let options = LoadOptions { weights: WeightFormat::frozen(false), positions: limit };
    let mut decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options)
        .map_err(ModelFailure::from)?;
    process.load(&mut decoder).map_err(TrainError::from)?;
    let progress = observer.progress("transition");
    let all: Vec<&TokenTransition> = made.transitions.iter().collect();
    let scored = score_transitions(&decoder, &all, request.batch, |part| {
        progress.reach(part.done as u64, part.all as u64);
    });
    progress.finish();
    let scored = scored?;
    if let Some(path) = &request.out {
        atomic::replace(path, score_lines(&read.episodes, &scored).as_bytes())?;
    }
    let figures = figures(&scored).map_err(TrainError::from)?;
    Ok((&figures).into())
}

/// A line for each episode.
fn score_lines(episodes: &[LabelledEpisode], scored: &[Labelled]) -> String {
    let (mut text, mut left) = (String::new(), scored.iter());
    for LabelledEpisode { task, solved, transitions } in episodes {
        let own: Vec<&Labelled> = left.by_ref().take(transitions.len()).collect();
        let probabilities: Vec<f64> = own.iter().map(|one| one.probability()).collect();
        let labels: Vec<bool> = own.iter().map(|one| one.label).collect();
        let line = json!({
            "v": 1, "task_id": task, "solved": solved, "probabilities": probabilities, "labels": labels,
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The figures in words.
pub fn lines(figures: &TransitionFigures) -> Vec<String> {
    let plain = |name: &str, of: &Estimate| match of.interval() {
        Some([low, high]) => {
            format!("{name} {:.3} (95 % interval: {low:.3} to {high:.3})", of.value)
        }
        None => format!("{name} {:.3} (one task: no interval)", of.value),
    };
    let TransitionFigures { transitions, tasks, positives, auc, calibration_error, brier, .. } =
        figures;
    let mut lines = vec![match auc {
        Some(auc) => plain("AUC", auc),
        None => "no AUC: all labels are equal".to_owned(),
    }];
    lines.push(format!(
        "{transitions} transitions of {tasks} tasks, {:.1} % with a positive label",
        100.0 * positives
    ));
    lines.push(plain("calibration error", calibration_error));
    lines.push(plain("Brier score", brier));
    for bin in figures.reliability.iter().filter(|bin| bin.transitions > 0.0) {
        lines.push(format!(
            "  says {:.2}: {:.1} % of {} transitions are progress",
            bin.probability,
            100.0 * bin.positives,
            bin.transitions
        ));
    }
    lines
}
