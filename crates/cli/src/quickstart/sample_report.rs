//! The report of a small quickstart, for tests.

use whetstone_core::config::Config;
use whetstone_eval::{Decoding, Measured};
use whetstone_recipe::phases::{Phases, Prepared, Taught, Trained, When};
use whetstone_recipe::report::QuickstartReport;
use whetstone_record::run_dir::RunDir;
use whetstone_rollout::measure::Tally;

/// Two tasks with four samples each, of which the given numbers passed.
fn measured(passed: [u64; 2], seconds: f64) -> Measured {
    of_samples(4, passed, seconds)
}

/// Two tasks with one greedy sample each.
fn greedy(passed: [u64; 2]) -> Measured {
    of_samples(1, passed, 0.0)
}

fn of_samples(samples: u64, passed: [u64; 2], seconds: f64) -> Measured {
    let tally = |(name, passed): (&str, u64)| {
        let task = name.to_owned().try_into().unwrap();
        Tally { task, samples, passed }
    };
    let all: u64 = passed.iter().sum();
    let verdicts = [("pass", all), ("wrong", 7 - all), ("no_code", 1)];
    Measured {
        tallies: ["a", "b"].into_iter().zip(passed).map(tally).collect(),
        verdicts: verdicts.map(|(name, count)| (name.to_owned(), count)).into(),
        unjudged: 0,
        cut_off: 8 - all,
        sampled_tokens: 100,
        surprise: seconds / 4.0,
        seconds,
    }
}

/// The report of a run in which one of two tasks was learnt.
pub(super) fn report() -> QuickstartReport {
    let mut phases = Phases::default();
    phases.tasks = Some(Prepared { train: 6, held_out: 2, seconds: 0.25 });
    phases.traces = Some(Taught { traces: 6, passing: 5, seconds: 0.5 });
    phases.before = Some(measured([0, 1], 1.0));
    phases.training = Some(Trained {
        steps: 3,
        rollouts: 24,
        sampled_tokens: 2400,
        pass_rate: [0.125, 0.5],
        seconds: 20.0,
        sampling_seconds: 12.0,
    });
    phases.after = Some(measured([4, 1], 2.0));
    phases.keep(When::Before, Some(Decoding::GREEDY), greedy([0, 1]));
    phases.keep(When::After, Some(Decoding::GREEDY), greedy([1, 1]));
    let mut config = Config::default();
    config.student.model_name = "runs/q/student".to_owned();
    config.eval.k = vec![4, 1];
    config.eval.num_samples = 4;
    let dir = tempfile::tempdir().unwrap();
    let run = RunDir::create(dir.path(), "q", "", 0).unwrap();
    let mut report = QuickstartReport::new(&config, run.view(), &phases).unwrap();
    let root = format!("{}/", dir.path().display());
    report.next = report.next.replace(&root, "runs/");
    let files = &mut report.files;
    for path in [
        &mut files.run,
        &mut files.final_model,
        &mut files.rollouts,
        &mut files.events,
        &mut files.report,
        &mut files.page,
    ] {
        *path = path.replace(&root, "runs/");
    }
    report
}

#[test]
fn a_task_that_was_learnt_is_a_gain() {
    let report = report();
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    };
    let [single, four] = [1, 4].map(|k| report.pass_at_k[&k]);
    near(single.before.value, 0.125);
    near(single.after.value, 0.625);
    near(single.difference.value, 0.5);
    near(four.difference.value, 0.5);
    // From 12.5 % at temperature 1 and 50 % greedily to 62.5 % and 100 %: the claim is not +87.5.
    let better = report.better_temperature.unwrap();
    assert_eq!((better.before, better.after), (Decoding::GREEDY, Decoding::GREEDY));
    near(better.gain.difference.value, 0.5);
    near(report.by_temperature[&Decoding::at(1.0).unwrap()].difference.value, 0.5);
    assert_eq!((report.before.verdicts["pass"], report.after.verdicts["pass"]), (1, 5));
    near(report.times.all_seconds, 23.75);
    near(report.times.training_tokens_per_s, 200.0);
    near(report.times.training_programs_per_s, 2.0);
}
