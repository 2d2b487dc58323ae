//! The page of an evaluation: its figures, and every sample with what the judge saw.
//!
//! It is made from the two files of its directory, `evaluation_results.json` and `rollouts.jsonl`. Of the first, only
//! what the page draws is read here; everything else, such as the counts of each task, is passed over.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use whetstone_core::jsonl::Records;
use whetstone_core::rollout::RolloutLine;

use super::completions::{self, Surveyed};
use super::events::Feed;
use super::limits::{self, MAX_NAME_BYTES, MAX_ROLLOUT_BYTES};
use super::page::{Page, PageForm};
use super::tasks::{self, PageTasks};
use super::{Contents, PageRequest, Progress, survey, write_page};
use crate::error::{FileError, ViewError};
use crate::plain_file::{open_plain, read_plain};

const RESULTS: &str = "evaluation_results.json";
const SAMPLES: &str = "rollouts.jsonl";
const VERSION: u64 = 1;
const MAX_RESULTS_BYTES: u64 = 256 << 20;
/// Figures of one kind, and parts of a suite, that are shown.
const MAX_ROWS: usize = 64;

/// The results as far as a page shows them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct EvaluationFigures {
    #[serde(skip_serializing)]
    v: u64,
    #[serde(skip_serializing)]
    settings: BTreeMap<String, String>,
    model: String,
    tasks: u64,
    num_samples: u64,
    pass_at_k: BTreeMap<String, IntervalFigure>,
    greedy: Option<IntervalFigure>,
    by_temperature: BTreeMap<String, PartFigures>,
    greedy_episodes: Option<EpisodeFigures>,
    code: Option<CodeFigures>,
    greedy_code: Option<CodeFigures>,
    baseline_prompts: Vec<BaselineFigures>,
    episodes: Option<EpisodeFigures>,
    by_source: BTreeMap<String, PartFigures>,
    by_difficulty: BTreeMap<String, PartFigures>,
    /// Samples by verdict and cause.
    causes: BTreeMap<String, BTreeMap<String, u64>>,
    greedy_causes: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Figures of a part of the suite.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct PartFigures {
    tasks: u64,
    pass_at_k: BTreeMap<String, IntervalFigure>,
    episodes: Option<EpisodeFigures>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct EpisodeFigures {
    max_turns: u32,
    solved_within: BTreeMap<String, IntervalFigure>,
    means: BTreeMap<String, IntervalFigure>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CodeFigures {
    code_rate: IntervalFigure,
    pass_given_code: Option<IntervalFigure>,
}

/// The model with another prompt.
#[derive(Debug, Serialize, Deserialize)]
struct BaselineFigures {
    prompt: String,
    greedy: IntervalFigure,
}

#[derive(Debug, Serialize, Deserialize)]
struct IntervalFigure {
    value: f64,
    low: f64,
    high: f64,
    tasks: u64,
}

#[derive(Serialize)]
struct EvaluationRecord<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    completions: u64,
    #[serde(flatten)]
    figures: &'a EvaluationFigures,
}

/// Whether a directory is that of an evaluation.
pub fn is_evaluation(dir: &Path) -> bool {
    dir.join(RESULTS).is_file() && !dir.join("events.jsonl").exists()
}

/// The default path of an evaluation's page.
pub fn default_path(dir: &Path) -> PathBuf {
    dir.join("report.html")
}

/// Writes the page of the evaluation in `dir` to `out`, atomically.
pub fn write(
    dir: &Path,
    request: PageRequest<'_>,
    out: &Path,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    write_page(out, |file| write_to(dir, request, file, progress))
}

fn write_to(
    dir: &Path,
    request: PageRequest<'_>,
    out: &mut dyn Write,
    progress: Progress<'_>,
) -> Result<Contents, ViewError> {
    let results = read_results(&dir.join(RESULTS))?;
    let samples = dir.join(SAMPLES);
    let survey = survey::of_lines(&samples, lines(&samples)?)?;
    let completions = survey.completions;
    let settings = results.settings.iter().map(|(name, value)| format!("{name} = {value}\n"));
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let mut feed = Feed::of(&name, &settings.collect::<String>());
    feed.record(&EvaluationRecord { kind: "evaluation", completions, figures: &results });
    let mut page = Page::begin(out, PageForm::File)?;
    page.chunk("feed", &feed.finish())?;
    page.scripts()?;
    let wanted = PageTasks { given: request.tasks, view: None, unanswered_bytes: 0 };
    let known = tasks::write(wanted, &survey, &mut page)?;
    let of = Surveyed { survey: &survey, known: &known };
    let written = completions::write(lines(&samples)?, of, &mut page, progress)?;
    page.end()?;
    let (steps, tasks) = (survey.steps.len() as u64, known.len() as u64);
    Ok(Contents { events: 0, steps, completions, shown: written.completions, tasks })
}

fn read_results(path: &Path) -> Result<EvaluationFigures, ViewError> {
    let text = read_plain(path, MAX_RESULTS_BYTES).map_err(FileError::at("read", path))?;
    let wrong = |problem| ViewError::Results { path: path.to_owned(), problem };
    let mut results: EvaluationFigures =
        serde_json::from_slice(&text).map_err(|err| wrong(err.to_string()))?;
    if results.v != VERSION {
        return Err(wrong(format!("it has version {}, this whet reads {VERSION}", results.v)));
    }
    results.cut();
    Ok(results)
}

/// The samples, one by one.
fn lines(
    path: &Path,
) -> Result<impl Iterator<Item = Result<RolloutLine, ViewError>> + use<>, ViewError> {
    let file: File = open_plain(path).map_err(FileError::at("open", path))?;
    let records = Records::<RolloutLine, _>::new(path, BufReader::with_capacity(1 << 16, file));
    let records = records.with_limit(MAX_ROLLOUT_BYTES);
    Ok(records.map(|read| Ok(read.map_err(ViewError::Samples)?.record)))
}

impl EvaluationFigures {
    /// Leaves out what a page has no room for.
    fn cut(&mut self) {
        self.model = limits::cut(&self.model, MAX_NAME_BYTES).0.to_owned();
        cut_rows(&mut self.pass_at_k);
        self.baseline_prompts.retain(|baseline| baseline.prompt.len() <= MAX_NAME_BYTES);
        self.baseline_prompts.truncate(MAX_ROWS);
        self.episodes.iter_mut().chain(&mut self.greedy_episodes).for_each(EpisodeFigures::cut);
        for causes in [&mut self.causes, &mut self.greedy_causes] {
            cut_rows(causes);
            causes.values_mut().for_each(cut_rows);
        }
        for parts in [&mut self.by_temperature, &mut self.by_source, &mut self.by_difficulty] {
            cut_rows(parts);
            parts.values_mut().for_each(PartFigures::cut);
        }
    }
}

impl PartFigures {
    fn cut(&mut self) {
        cut_rows(&mut self.pass_at_k);
        self.episodes.iter_mut().for_each(EpisodeFigures::cut);
    }
}

impl EpisodeFigures {
    fn cut(&mut self) {
        cut_rows(&mut self.solved_within);
        cut_rows(&mut self.means);
    }
}

/// Keeps the first rows with names that a table can hold.
fn cut_rows<V>(rows: &mut BTreeMap<String, V>) {
    rows.retain(|name, _| name.len() <= MAX_NAME_BYTES);
    if let Some(first) = rows.keys().nth(MAX_ROWS).cloned() {
        drop(rows.split_off(&first));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::super::tests::{chunk, line};
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\u{1b}[31m";

    fn evaluation(dir: &Path, results: &Value) {
        fs::write(dir.join(RESULTS), results.to_string()).unwrap();
        let samples: Vec<String> = (0..4).map(|at| format!("{}\n", line(at, HOSTILE))).collect();
        fs::write(dir.join(SAMPLES), samples.concat()).unwrap();
    }

    fn results() -> Value {
        let figure = json!({"value": 0.5, "low": 0.4, "high": 0.6, "tasks": 2, "left_out": 0});
        let means = json!({"reward": figure, (HOSTILE): figure});
        let episodes =
            json!({"max_turns": 2, "solved_within": {"1": figure, "2": figure}, "means": means});
        json!({
            "v": 1, "model": HOSTILE, "tasks": 2, "num_samples": 2, "pass_at_k": {"1": figure},
            "greedy": null, "episodes": episodes, "code": {"code_rate": figure, "pass_given_code": null},
            "baseline_prompts": [{"prompt": "plain-1", "greedy": figure, "by_task": []}, {"prompt": HOSTILE.repeat(20), "greedy": figure}],
            "by_task": [{"id": "x/0"}], "settings": {"seed": "1"},
            "by_temperature": {"T=0.6": {"pass_at_k": {"1": figure}}, (HOSTILE.repeat(20)): {}},
            "greedy_episodes": episodes,
            "causes": {"no_code": {"in_thinking": 3, (HOSTILE.repeat(20)): 1}},
            "by_source": {"a": {"tasks": 2, "pass_at_k": {}, "greedy": null, "episodes": episodes}},
        })
    }

    fn page(dir: &Path) -> Result<(String, Contents), ViewError> {
        let mut out = Vec::new();
        let contents = write_to(dir, PageRequest::default(), &mut out, &mut |_, _| {})?;
        Ok((String::from_utf8(out).unwrap(), contents))
    }

    #[test]
    fn a_page_has_the_figures_and_the_samples_of_an_evaluation() {
        let dir = tempfile::tempdir().unwrap();
        evaluation(dir.path(), &results());
        assert!(is_evaluation(dir.path()));
        let (page, contents) = page(dir.path()).unwrap();
        let expected = Contents { events: 0, steps: 1, completions: 4, shown: 4, tasks: 0 };
        assert_eq!(contents, expected);
        assert!(!page.contains("alert(1)") && !page.contains('\u{1b}'), "only packed");
        let feed = chunk(&page, "feed");
        let records: Vec<Value> =
            feed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(records[0]["config"], "seed = 1\n");
        let found = &records[1];
        assert_eq!((&found["type"], &found["completions"]), (&"evaluation".into(), &4.into()));
        assert_eq!(found["episodes"]["solved_within"]["2"]["high"], 0.6);
        assert_eq!(found["by_source"]["a"]["episodes"]["max_turns"], 2);
        assert_eq!(found["code"]["code_rate"]["high"], 0.6);
        assert!(found["code"]["pass_given_code"].is_null() && found["greedy_code"].is_null());
        assert_eq!(
            found["baseline_prompts"].as_array().unwrap().len(),
            1,
            "a long name is left out"
        );
        assert!(found.get("by_task").is_none(), "{found}");
        assert_eq!(found["by_temperature"]["T=0.6"]["pass_at_k"]["1"]["low"], 0.4);
        assert_eq!(
            found["by_temperature"].as_object().unwrap().len(),
            1,
            "a long name is left out"
        );
        assert_eq!(found["greedy_episodes"]["means"]["reward"]["high"], 0.6);
        assert_eq!(found["causes"], json!({"no_code": {"in_thinking": 3}}));
        let texts: Value = serde_json::from_str(&chunk(&page, "completions-0")).unwrap();
        assert_eq!(texts[0]["text"], HOSTILE);
    }

    #[test]
    fn results_that_are_none_and_samples_that_are_none_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let said = |results: &Value| {
            evaluation(dir.path(), results);
            page(dir.path()).unwrap_err().to_string()
        };
        assert!(said(&json!({"v": 9})).ends_with("it has version 9, this whet reads 1"));
        assert!(said(&json!("none")).contains("does not hold the results of an evaluation"));
        evaluation(dir.path(), &results());
        fs::write(dir.path().join(SAMPLES), "{\"step\":0}\n").unwrap();
        let err = page(dir.path()).unwrap_err();
        assert!(err.to_string().contains("rollouts.jsonl:1"), "{err}");
        fs::remove_file(dir.path().join(SAMPLES)).unwrap();
        assert!(page(dir.path()).is_err());
    }

    #[test]
    fn rows_beyond_a_bound_are_left_out() {
        let figure = json!({"value": 0.5, "low": 0.4, "high": 0.6, "tasks": 2});
        let many = |name: &str| -> Value {
            (0..100).map(|at| (format!("{name}{at:03}"), figure.clone())).collect()
        };
        let parts: Value = (0..100)
            .map(|at| (format!("p{at:03}"), json!({"episodes": {"means": many("m")}})))
            .collect();
        let text = json!({"v": 1, "by_source": parts}).to_string();
        let mut results: EvaluationFigures = serde_json::from_str(&text).unwrap();
        results.cut();
        assert_eq!(results.by_source.len(), MAX_ROWS);
        let first = results.by_source.values().next().unwrap();
        assert_eq!(first.episodes.as_ref().unwrap().means.len(), MAX_ROWS);
    }
}
