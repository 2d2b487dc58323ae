//! What a training came to, and the commands that follow: said at its end.

use std::path::{Path, PathBuf};

use whetstone_algo::format_gain::CodeRates;
use whetstone_core::metric::{self, Unit};
use whetstone_data::prepare::VAL;
use whetstone_recipe::shell::quoted;
use whetstone_recipe::text::{duration, many, plain};
use whetstone_record::summary::{CodeChange, Gain, HeldOut, RepliesWithCode, Summary, Trend};
use whetstone_train::session::FINAL_MODEL;
use whetstone_train::{process_reward, reward_model};

use crate::figures::code_change;

/// Tasks for the final figure, beside the tasks of the run: validated, or as they were prepared.
const VALIDATION: [&str; 2] = ["held-out.jsonl", VAL];

/// The figures of a training, a line for each kind.
pub(super) fn lines(summary: &Summary) -> Vec<String> {
    let Summary { steps, training, held_out, code, alarms, seconds } = summary;
    let mut lines = Vec::new();
    if !training.is_empty() {
        let trends: Vec<String> = training.iter().map(trend).collect();
        lines.push(format!(
            "{} (training data, first quarter of {} -> last)",
            trends.join(", "),
            many(*steps, "step")
        ));
    }
    lines.extend(held_out.iter().map(measured));
    lines.extend(code.iter().map(with_code));
    lines.push(if alarms.is_empty() {
        "alarms: 0".to_owned()
    } else {
        let codes = alarms.iter().map(|(code, count)| format!("{} {count}", plain(code, 100)));
        format!("alarms: {} ({})", summary.alarm_count(), codes.collect::<Vec<_>>().join(", "))
    });
    lines.push(format!("time in steps: {}", duration(*seconds)));
    lines
}

fn trend(Trend { metric, first_quarter, last_quarter }: &Trend) -> String {
    let [first, last] = [first_quarter, last_quarter].map(|value| number(metric, *value));
    format!("{} {first} -> {last}", name(metric))
}

fn measured(found: &HeldOut) -> String {
    let HeldOut { metric, first_step, first, last_step, last, after_last, tasks, gain } = found;
    let [first, last] = [first, last].map(|value| number(metric, *value));
    let tasks = tasks.map_or(String::new(), |tasks| format!(" of {}", many(tasks, "task")));
    let held_out = format!("held-out {}{tasks}", name(metric));
    if first_step == last_step && !after_last {
        return format!("{held_out} {last} (step {last_step})");
    }
    let after = if *after_last { "after " } else { "" };
    let gain = gain.map_or(String::new(), |gain| format!(": {}", points(gain)));
    format!("{held_out} {first} (step {first_step}) -> {last} ({after}step {last_step}){gain}")
}

/// A gain with its standard error: `+12.5 points, standard error 3.1`.
fn points(Gain { mean, error }: Gain) -> String {
    let error =
        error.map_or(String::new(), |error| format!(", standard error {:.1}", 100.0 * error));
    format!("{:+.1} points{error}", 100.0 * mean)
}

/// Replies with code before and after, and how many of these pass.
fn with_code(CodeChange { metric, first, last }: &CodeChange) -> String {
    let is_held_out = *metric == metric::HELD_OUT_NO_CODE.name;
    let name = if is_held_out {
        "held-out replies with code (first step -> last)"
    } else {
        "replies with code (first step -> last quarter)"
    };
    let rates = |&RepliesWithCode { code_rate, pass_rate }: &RepliesWithCode| CodeRates {
        code_rate,
        pass_rate,
    };
    format!("{name} {}", code_change(rates(first), rates(last)))
}

/// A metric's name for people.
fn name(metric: &str) -> String {
    let known = [
        (metric::GRPO_MEAN_REWARD, "reward"),
        (metric::PPO_MEAN_REWARD, "reward"),
        (metric::RM_ACCURACY, "accuracy"),
        (metric::RM_HELD_OUT_ACCURACY, "accuracy"),
        (metric::DPO_ACCURACY, "accuracy"),
        (metric::DPO_HELD_OUT_ACCURACY, "accuracy"),
        (metric::PRM_ACCURACY, "accuracy"),
        (metric::PRM_HELD_OUT_AUC, "AUC"),
        (metric::RM_HELD_OUT_CALIBRATION_ERROR, "calibration error"),
        (metric::PRM_HELD_OUT_CALIBRATION_ERROR, "calibration error"),
    ];
    match known.iter().find(|(known, _)| known.name == metric) {
        Some((_, name)) => (*name).to_owned(),
        None => metric.rsplit('/').next().unwrap_or(metric).replace('_', " "),
    }
}

/// A rate in percent, anything else with three digits.
fn number(metric: &str, value: f64) -> String {
    let is_rate = metric::find(metric).is_some_and(|metric| metric.unit == Unit::Fraction);
    if is_rate { format!("{:.1} %", 100.0 * value) } else { format!("{value:.3}") }
}

/// The commands that come next, each complete.
pub(super) fn next(stage: &str, dir: &Path, tasks: Option<&Path>) -> Vec<String> {
    let model = dir.join("outputs").join(FINAL_MODEL);
    let show = |path: &Path| quoted(&path.display().to_string());
    let setting = quoted(&format!("reward.process={}", model.display()));
    let (run, model) = (show(dir), show(&model));
    let mut commands = vec![format!("whet report {run}")];
    if stage == reward_model::STAGE {
        commands.push(format!("whet model score {model} --pairs PAIRS.jsonl"));
        commands.push(format!("whet train ppo --run NAME --reward-model {model}"));
    } else if stage == process_reward::STAGE {
        commands.push(format!("whet model score {model} --transitions EPISODES.jsonl"));
        commands.push(format!("whet train grpo --run NAME --set {setting}"));
    } else {
        let tasks = first_of(&measured_by(dir, tasks), "TASKS.jsonl");
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let out = quoted(&format!("eval/{name}"));
        commands.push(format!("whet eval --tasks {tasks} --model {model} --out {out}"));
        commands.push(format!("whet generate {model} 'PROMPT' --chat"));
    }
    commands
}

/// Files to measure a run by, the best first: those beside the tasks that it learnt from, which were prepared with
/// them, and its own held-out tasks.
fn measured_by(dir: &Path, tasks: Option<&Path>) -> Vec<PathBuf> {
    let beside = tasks.and_then(Path::parent).into_iter();
    let beside = beside.flat_map(|folder| VALIDATION.map(|name| folder.join(name)));
    beside.chain([dir.join("inputs/held_out.jsonl")]).collect()
}

/// The first file that is there, quoted; a placeholder if none is.
fn first_of(files: &[PathBuf], placeholder: &str) -> String {
    let found = files.iter().find(|file| file.is_file());
    found.map_or_else(|| placeholder.to_owned(), |file| quoted(&file.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_is_summed_up_in_four_lines() {
        let trend =
            |metric, first_quarter, last_quarter| Trend { metric, first_quarter, last_quarter };
        let held_out = HeldOut {
            metric: "held_out/pass_rate",
            first_step: 1,
            first: 0.12,
            last_step: 41,
            last: 0.31,
            after_last: false,
            tasks: Some(100),
            gain: None,
        };
        let summary = Summary {
            steps: 60,
            training: vec![
                trend("grpo/mean_reward", 0.3124, 0.5536),
                trend("grpo/pass_rate", 0.1, 0.3214),
            ],
            held_out: vec![held_out],
            code: Vec::new(),
            alarms: [("entropy_collapse".to_owned(), 1), ("reward_drop".to_owned(), 2)].into(),
            seconds: 725.0,
        };
        assert_eq!(
            lines(&summary),
            [
                "reward 0.312 -> 0.554, pass rate 10.0 % -> 32.1 % (training data, first quarter of 60 steps -> last)",
                "held-out pass rate of 100 tasks 12.0 % (step 1) -> 31.0 % (step 41)",
                "alarms: 3 (entropy_collapse 1, reward_drop 2)",
                "time in steps: 12 min",
            ]
        );
    }

    #[test]
    fn a_held_out_gain_is_said_with_its_error() {
        let gain = Some(Gain { mean: 0.1875, error: Some(0.031) });
        let found = HeldOut {
            metric: "held_out/pass_rate",
            first_step: 1,
            first: 0.125,
            last_step: 60,
            last: 0.3125,
            after_last: true,
            tasks: Some(200),
            gain,
        };
        assert_eq!(
            measured(&found),
            "held-out pass rate of 200 tasks 12.5 % (step 1) -> 31.2 % (after step 60): +18.8 points, standard \
             error 3.1"
        );
        // A run of one step was measured before it and after it.
        let one = HeldOut { last_step: 1, gain: None, ..found };
        assert!(measured(&one).ends_with("12.5 % (step 1) -> 31.2 % (after step 1)"));
    }

    #[test]
    fn replies_with_code_are_told_for_training_and_held_out_tasks() {
        let [first, last] = [(0.5, 0.1), (1.0, 0.3)]
            .map(|(code_rate, pass_rate)| RepliesWithCode { code_rate, pass_rate });
        let of = |metric| with_code(&CodeChange { metric, first, last });
        assert_eq!(
            of("held_out/no_code"),
            "held-out replies with code (first step -> last) 50.0 % -> 100.0 %, of which 20.0 % -> 30.0 % pass; \
             12.5 of +20.0 points of the pass rate are format"
        );
        assert!(
            of("code/no_code").starts_with("replies with code (first step -> last quarter) 50")
        );
    }

    #[test]
    fn the_next_commands_are_whole_and_quoted() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("my runs/a");
        let shown = dir.display();
        let found = next("grpo", &dir, None);
        assert_eq!(found[0], format!("whet report '{shown}'"));
        assert_eq!(
            found[1],
            format!(
                "whet eval --tasks TASKS.jsonl --model '{shown}/outputs/final_model' --out eval/a"
            )
        );
        assert_eq!(
            found[2],
            format!("whet generate '{shown}/outputs/final_model' 'PROMPT' --chat")
        );
        std::fs::create_dir_all(dir.join("inputs")).unwrap();
        std::fs::write(dir.join("inputs/held_out.jsonl"), "").unwrap();
        assert!(
            next("grpo", &dir, None)[1]
                .contains(&format!("--tasks '{shown}/inputs/held_out.jsonl'"))
        );
        let small = root.path().join("small");
        std::fs::create_dir_all(&small).unwrap();
        let tasks = |tasks: &str| next("grpo", &dir, Some(&small.join(tasks)))[1].clone();
        assert!(tasks("train.jsonl").contains("held_out.jsonl"), "there is no other file");
        for file in ["val.jsonl", "held-out.jsonl"] {
            std::fs::write(small.join(file), "").unwrap();
            let named = format!("--tasks {}", small.join(file).display());
            assert!(tasks("train.jsonl").contains(&named), "beside the tasks of the run: {file}");
        }
        let other = next("grpo", &dir, Some(&root.path().join("other/train.jsonl")))[1].clone();
        assert!(other.contains("inputs/held_out.jsonl"), "not those of other tasks: {other}");
        assert!(
            next("prm", &dir, None)[2]
                .ends_with(&format!("--set 'reward.process={shown}/outputs/final_model'"))
        );
    }
}
