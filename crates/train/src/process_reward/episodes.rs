//! Episodes with the labels of their transitions: read from files, counted, and held out by task.
//!
//! Every line with a `validation` that has transitions is an episode, whatever wrote it; lines without are
//! counted. The label of a transition is the environment's rule, and a rule may be wrong about the end: how
//! often it is, is counted too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whetstone_core::config::Config;
use whetstone_core::episode_line::EpisodeLine;
use whetstone_core::jsonl::{Numbered, Records};
use whetstone_core::outcome::Transition;
use whetstone_core::seed::Seed;
use whetstone_core::task::TaskId;

use crate::error::TrainError;
use crate::hold_out::HoldOut;

/// Transitions of all files of a training, at most.
const MAX_TRANSITIONS: usize = 2_000_000;

/// An episode whose transitions are learnt from.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledEpisode {
    /// Its task.
    pub task: TaskId,
    /// Whether it was solved in the end.
    pub solved: bool,
    /// One for each reply.
    pub transitions: Vec<Transition>,
}

/// The episodes of files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Episodes {
    /// Those with transitions.
    pub episodes: Vec<LabelledEpisode>,
    /// Lines without transitions: not scored, not judged, or of an environment that records none.
    pub without: usize,
}

/// Episodes to learn from, and episodes to measure by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EpisodeSplit {
    /// To learn from.
    pub train: Vec<LabelledEpisode>,
    /// To measure by.
    pub held_out: Vec<LabelledEpisode>,
}

/// Counts of labels, and of those that the end of their episode contradicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelCounts {
    /// Episodes.
    pub episodes: u64,
    /// Of these, solved.
    pub solved: u64,
    /// Transitions.
    pub transitions: u64,
    /// Of these, with a positive label.
    pub positive: u64,
    /// Transitions with a positive label, of episodes that were not solved.
    pub positive_unsolved: u64,
    /// Transitions with a negative label, of episodes that were solved.
    pub negative_solved: u64,
}

impl LabelCounts {
    /// The counts of episodes.
    pub fn of(episodes: &[LabelledEpisode]) -> Self {
        let mut counts = Self::default();
        for LabelledEpisode { solved, transitions, .. } in episodes {
            let positive = transitions.iter().filter(|turn| turn.progress).count() as u64;
            let all = transitions.len() as u64;
            counts.episodes += 1;
            counts.solved += u64::from(*solved);
            counts.transitions += all;
            counts.positive += positive;
            if *solved {
                counts.negative_solved += all - positive;
            } else {
                counts.positive_unsolved += positive;
            }
        }
        counts
    }

    /// Refuses labels that are all equal, of which nothing can be learnt.
    ///
    /// # Errors
    ///
    /// If they are.
    pub fn check(&self) -> Result<(), TrainError> {
        let Self { transitions, positive, .. } = *self;
        if positive > 0 && positive < transitions {
            return Ok(());
        }
        Err(TrainError::Settings(format!(
            "all {transitions} transitions have the same label, so there is nothing to tell apart: add \
             episodes that go another way"
        )))
    }

    /// The share of positive labels.
    pub fn positive_share(&self) -> f64 {
        share(self.positive, self.transitions)
    }

    /// The share of labels that disagree with the end of their episode.
    pub fn disagreeing_share(&self) -> f64 {
        share(self.positive_unsolved + self.negative_solved, self.transitions)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a file")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Reads the episodes of files.
///
/// # Errors
///
/// If a line is not about an episode, there are too many transitions, or none.
pub fn read_episodes(paths: &[PathBuf]) -> Result<Episodes, TrainError> {
    let (mut read, mut count) = (Episodes::default(), 0);
    for path in paths {
        for record in Records::<EpisodeLine, _>::open(path).map_err(TrainError::Rollouts)? {
            let Numbered { line, record } = record.map_err(TrainError::Rollouts)?;
            let Some(observation) = record.observation() else {
                read.without += 1;
                continue;
            };
            count += observation.transitions.len();
            if count > MAX_TRANSITIONS {
                return Err(too_many(path, line));
            }
            read.episodes.push(LabelledEpisode {
                task: record.task.clone(),
                solved: observation.solved,
                transitions: observation.transitions.clone(),
            });
        }
    }
    if read.episodes.is_empty() {
        let files = paths.iter().map(|path| format!("`{}`", path.display()));
        return Err(TrainError::NoTransitions {
            files: files.collect::<Vec<_>>().join(", "),
            lines: read.without,
        });
    }
    Ok(read)
}

fn too_many(path: &Path, line: u64) -> TrainError {
    let problem =
        format!("the files have more than {MAX_TRANSITIONS} transitions: name fewer of them");
    TrainError::RolloutLine { path: path.to_owned(), line, problem }
}

/// Holds out a fraction of the transitions, whole tasks at a time. Which ones depends on the seed and their
/// names, not on the order of files.
///
/// # Errors
///
/// If all episodes are of one task.
pub fn hold_out(
    episodes: Vec<LabelledEpisode>,
    config: &Config,
) -> Result<EpisodeSplit, TrainError> {
    let mut by_task: BTreeMap<String, usize> = BTreeMap::new();
    for episode in &episodes {
        *by_task.entry(episode.task.to_string()).or_default() += episode.transitions.len();
    }
    if by_task.len() < 2 {
        return Err(TrainError::Settings(format!(
            "all {} episodes are of one task, so none can be held out: add episodes of other tasks, or \
             name others with `--held-out`",
            episodes.len()
        )));
    }
    let (seed, fraction) = (Seed::new(config.seed), config.prm.held_out_fraction);
    let chosen = HoldOut { seed, name: "held-out transitions", fraction }.draw(&by_task);
    let is_chosen = |episode: &LabelledEpisode| chosen.contains(episode.task.as_str());
    let (held_out, train) = episodes.into_iter().partition(is_chosen);
    Ok(EpisodeSplit { train, held_out })
}

/// A task that both of two lists have episodes of.
pub fn shared_task<'e>(
    train: &[LabelledEpisode],
    held_out: &'e [LabelledEpisode],
) -> Option<&'e TaskId> {
    let known: BTreeSet<&str> = train.iter().map(|episode| episode.task.as_str()).collect();
    held_out.iter().map(|episode| &episode.task).find(|task| known.contains(task.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{episode, transition};
    use super::*;
    use crate::testing::settings;

    /// A solved episode with one label of three against it, an unsolved one with one of two.
    #[test]
    fn labels_and_ends_worked_by_hand() {
        let turn = |label| transition("a", "b", label);
        let episodes = [
            episode("x", &[turn(false), turn(true), turn(true)], true),
            episode("y", &[turn(true), turn(false)], false),
        ];
        let counts = LabelCounts::of(&episodes);
        let expected = LabelCounts {
            episodes: 2,
            solved: 1,
            transitions: 5,
            positive: 3,
            positive_unsolved: 1,
            negative_solved: 1,
        };
        assert_eq!(counts, expected);
        assert!((counts.positive_share() - 0.6).abs() < 1e-12);
        assert!((counts.disagreeing_share() - 0.4).abs() < 1e-12);
    }

    #[test]
    fn a_task_is_held_out_as_a_whole_whatever_the_order_of_files() {
        let names: Vec<String> = (0..20).map(|at| format!("t/{}", at / 2)).collect();
        let episodes: Vec<LabelledEpisode> =
            names.iter().map(|task| episode(task, &[transition("a", "b", true)], true)).collect();
        let mut turned = episodes.clone();
        turned.reverse();
        let tasks = |episodes: Vec<LabelledEpisode>| -> BTreeSet<String> {
            let split = hold_out(episodes, &settings()).unwrap();
            assert_eq!((split.train.len(), split.held_out.len()), (18, 2), "a tenth");
            assert!(shared_task(&split.train, &split.held_out).is_none());
            split.held_out.iter().map(|episode| episode.task.to_string()).collect()
        };
        assert_eq!(tasks(episodes.clone()), tasks(turned));
        assert_eq!(shared_task(&episodes[..2], &episodes[1..]).unwrap().as_str(), "t/0");
        let err = hold_out(episodes[..2].to_vec(), &settings()).unwrap_err().to_string();
        assert!(err.starts_with("all 2 episodes are of one task"), "{err}");
    }

    #[test]
    fn lines_without_transitions_are_counted_and_a_bad_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rollouts.jsonl");
        let turn = r#"{"state":"a","action":"b","next_state":"c","valid":true,"progress":false}"#;
        let good = format!(
            r#"{{"prompt_id":"x","validation":{{"kind":"solver","solved":true,"transitions":[{turn}]}}}}"#
        );
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_episodes(std::slice::from_ref(&path))
        };
        let found = read(&format!("{good}\n{{\"prompt_id\":\"y\"}}\n")).unwrap();
        assert_eq!((found.episodes.len(), found.without), (1, 1));
        let said = read("{\"prompt_id\":\"y\"}\n").unwrap_err();
        assert!(said.is_usage(), "{said}");
        assert!(said.to_string().contains("has no transitions"), "{said}");
        let bad = good.replace("\"progress\":false", "\"progress\":0");
        let said = read(&format!("{good}\n{bad}\n")).unwrap_err().to_string();
        assert!(
            said.contains("rollouts.jsonl:2: not a scored episode: field `validation`"),
            "{said}"
        );
        let said = read(&good[..60]).unwrap_err().to_string();
        assert!(said.contains("was the file cut short?"), "{said}");
    }
}
