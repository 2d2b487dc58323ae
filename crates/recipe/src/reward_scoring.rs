//! Preference pairs scored by a trained reward model, and what that is worth.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use whetstone_algo::pairwise::{ScoredPair, figures};
use whetstone_core::config::{Config, DeviceChoice};
use whetstone_core::preference::Preference;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_record::atomic;
use whetstone_train::TrainError;
use whetstone_train::reward_model::{
    Estimate, Length, PairFigures, RewardModel, TokenPair, TokenPairs, score_pairs, token_pairs,
};

use crate::device;
use crate::failure::Failure;
use crate::find::{Around, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;
use crate::training::pairs::{check, read_pairs, say};

/// What to score, and by whom.
#[derive(Debug, Clone)]
pub struct ScoreRequest {
    /// The reward model: a run, or a directory.
    pub reward_model: String,
    /// The file of pairs.
    pub pairs: PathBuf,
    /// The file for the scores.
    pub out: Option<PathBuf>,
    /// Pairs at a time.
    pub batch: usize,
    /// The device.
    pub device: DeviceChoice,
    /// CPU threads; one per core if absent.
    pub threads: Option<usize>,
}

/// Scores a file of pairs.
///
/// # Errors
///
/// If the reward model, its base or the pairs cannot be used, or the device fails.
pub fn run(request: &ScoreRequest, observer: &dyn Observer) -> Result<PairFigures, Failure> {
    let config = Config::default();
    let preferences = read_pairs(&request.pairs)?;
    let found = find(&request.reward_model, &Around::of(&config, observer))?;
    let dir = found.adapter.as_deref().unwrap_or(Path::new(&request.reward_model));
    let model = found.open()?;
    let name = found.model.display().to_string();
    let reward = RewardModel::open(dir, &model, &name).map_err(TrainError::from)?;
    let limit = model.config.positions;
    let made = token_pairs(&model, &preferences, limit)?;
    say("to score", &made, limit, observer);
    check(&made, preferences.len(), limit)?;
    let device = device::choose(request.device, request.threads, observer)?;
    let longest = made.pairs.iter().map(longest).max().unwrap_or(1);
    let options = LoadOptions { weights: WeightFormat::frozen(false), positions: longest };
    let mut decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options)
        .map_err(ModelFailure::from)?;
    reward.load(&mut decoder).map_err(TrainError::from)?;
    let progress = observer.progress("reply");
    let pairs: Vec<&TokenPair> = made.pairs.iter().collect();
    let scored = score_pairs(&decoder, &pairs, request.batch, |part| {
        progress.reach(part.done as u64, part.all as u64);
    });
    progress.finish();
    let scored = scored?;
    if let Some(path) = &request.out {
        let lines = score_lines(&kept(&preferences, &made), &scored, &reward);
        atomic::replace(path, lines.as_bytes())?;
    }
    let figures = figures(&scored).map_err(TrainError::from)?;
    Ok((&figures).into())
}

fn longest(pair: &TokenPair) -> usize {
    pair.chosen.len().max(pair.rejected.len())
}

/// The pairs that were scored.
fn kept<'p>(preferences: &'p [Preference], made: &TokenPairs) -> Vec<&'p Preference> {
    made.places.iter().map(|&at| &preferences[at]).collect()
}

/// A line for each pair.
fn score_lines(pairs: &[&Preference], scored: &[ScoredPair], reward: &RewardModel) -> String {
    let mut text = String::new();
    for (pair, scored) in pairs.iter().zip(scored) {
        let [chosen, rejected] =
            [scored.chosen, scored.rejected].map(|score| reward.normalised(score));
        let line = json!({ "v": 1, "id": pair.id, "chosen": chosen, "rejected": rejected });
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The figures in words.
pub fn lines(figures: &PairFigures) -> Vec<String> {
    let PairFigures { accuracy, margin, calibration_error, brier, length, .. } = figures;
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    let plain = |name: &str, of: &Estimate| match of.interval() {
        Some([low, high]) => format!("{name} {:.3} ({low:.3} to {high:.3})", of.value),
        None => format!("{name} {:.3} (one prompt: no interval)", of.value),
    };
    let [low, high] = accuracy.interval().unwrap_or([0.0, 1.0]);
    let Length { chosen_longer, chosen_shorter, .. } = length;
    vec![
        format!(
            "{} of {} pairs on {} prompts are in the right order (95 % interval: {} to {})",
            percent(accuracy.value),
            figures.pairs,
            figures.prompts,
            percent(low),
            percent(high)
        ),
        plain("lead of the chosen reply", margin),
        plain("calibration error", calibration_error),
        plain("Brier score", brier),
        format!(
            "length: correlation {:.2} with the scores, {:.2} with the labels; explains {} of the differences",
            length.correlation,
            length.label_correlation,
            percent(length.explained)
        ),
        format!(
            "right where the chosen reply is longer: {} of {} pairs; where it is shorter: {} of {}",
            percent(chosen_longer.accuracy),
            chosen_longer.pairs,
            percent(chosen_shorter.accuracy),
            chosen_shorter.pairs
        ),
    ]
}
