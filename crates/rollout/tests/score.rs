//! Scoring files with a judge that runs nothing.

use std::fs;

use crate::common::{Asked, Bench, Fake, rollout};
use serde_json::Value;
use whetstone_algo::advantage::group;
use whetstone_core::config::AdvantageBy;
use whetstone_core::config::Composite;
use whetstone_core::jsonl::Records;
use whetstone_core::outcome::Evidence;
use whetstone_core::rollout::{RolloutLine, Score};
use whetstone_record::batch::BatchError;
use whetstone_rollout::cache::{Bounds, Cache};
use whetstone_rollout::score::{BadLines, ScoreError, ScoreSummary};

/// Scores `rollouts` with a fresh judge and no cache; returns output and report.
fn score(rollouts: &str) -> (String, ScoreSummary) {
    let dir = tempfile::tempdir().expect("a folder");
    let bench = Bench::new(dir.path(), rollouts);
    let asked = Asked { judge: Some(&Fake::default()), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).expect("it can be scored");
    assert!(!bench.path("out.jsonl.journal").exists(), "a finished scoring leaves no journal");
    (bench.read("out.jsonl"), report)
}

/// The output as rollouts: their type refuses a total that is not that of its terms.
fn scored(output: &str) -> Vec<RolloutLine> {
    Records::new("out", output.as_bytes())
        .map(|line| line.map(|line| line.record))
        .collect::<Result<_, _>>()
        .expect("scored lines are rollouts")
}

fn judged(rollout: &RolloutLine) -> (&str, f64, f64) {
    let Some(Score::Scored { outcome, advantage: Some(advantage) }) = &rollout.score else {
        panic!("{:?} is not judged", rollout.score)
    };
    (outcome.evidence.name(), outcome.reward.total(), *advantage)
}

#[track_caller]
fn assert_near(found: &[f64], expected: &[f64]) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near && found.len() == expected.len(), "{found:?} is not {expected:?}");
}

#[test]
fn every_line_gets_its_verdict_its_reward_and_its_advantage() {
    let words = ["PASS", "wrong", "RAISES", "PASS"];
    let lines: Vec<_> = words.iter().map(|word| rollout(0, "a", word)).collect();
    let (output, report) = score(&lines.concat());
    let scored = scored(&output);
    let verdicts: Vec<_> = scored.iter().map(|line| judged(line).0).collect();
    assert_eq!(verdicts, ["pass", "wrong", "raised", "pass"]);
    let totals: Vec<_> = scored.iter().map(|line| judged(line).1).collect();
    assert_near(&totals, &[1.0, 0.0, 0.0, 1.0]);
    let advantages: Vec<_> = scored.iter().map(|line| judged(line).2).collect();
    assert_eq!(advantages, group(&totals, AdvantageBy::StandardScore).unwrap());
    assert_eq!((report.lines, report.scored, report.groups, report.dead_groups), (4, 4, 1, 0));
    assert_eq!((report.verdicts["pass"], report.verdicts["wrong"]), (2, 1));
    assert_eq!(report.rewards["total"].count, 4);
    assert!((report.rewards["total"].mean - totals.iter().sum::<f64>() / 4.0).abs() < 1e-12);
    assert!(report.slowest.len() == 4 && report.slowest[0].cpu_ms > report.slowest[3].cpu_ms);
}

#[test]
fn groups_need_not_stand_together() {
    let lines =
        [(0, "a", "PASS"), (0, "b", "PASS"), (1, "a", "PASS"), (0, "a", "x"), (0, "b", "PASS")];
    let lines: Vec<_> = lines.iter().map(|&(step, id, word)| rollout(step, id, word)).collect();
    let (output, report) = score(&lines.concat());
    let advantages: Vec<_> = scored(&output).iter().map(|line| judged(line).2).collect();
    assert_near(&advantages, &[1.0, 0.0, 0.0, -1.0, 0.0]);
    assert_eq!((report.groups, report.dead_groups), (3, 2));
}

#[test]
fn a_line_that_could_not_be_judged_has_no_reward_and_does_not_count_in_its_group() {
    let words = ["PASS", "BROKEN", "wrong", "BROKEN"];
    let lines: Vec<_> = words.iter().map(|word| rollout(0, "a", word)).collect();
    let (output, report) = score(&(lines.concat() + &rollout(0, "b", "BROKEN")));
    let lines: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1]["validation"], serde_json::json!({"error": "no zygote"}));
    assert!(lines[1].get("reward").is_none() && lines[1].get("advantage").is_none());
    let advantage = |at: usize| lines[at]["advantage"].as_f64().unwrap();
    assert_near(&[advantage(0), advantage(2)], &[1.0, -1.0]);
    assert_eq!((report.scored, report.failed, report.errors["no zygote"]), (2, 3, 3));
    assert_eq!((report.groups, report.dead_groups, report.unjudged_groups), (2, 0, 1));
    assert_eq!(report.rewards["total"].count, 2, "an error is no reward of 0");
}

#[test]
fn a_lines_own_bytes_pass_through() {
    let text = r#""text":"no code here \u00e9\/""#;
    let own = format!(
        r#"{{ "mine":[1.50,{{"z":1e2}}],"step":0 ,"prompt_id":"a","group_id":3,{text},"meta":{{"temperature":0.70}},"big":123456789012345678901234567890"#
    );
    let (output, _) = score(&format!("\u{feff}{own} }}\r\n\n   \n"));
    assert!(
        output.starts_with(&format!("{own},\"validation\":{{\"verdict\":\"no_code\"")),
        "{output}"
    );
    assert!(output.ends_with("\"advantage\":0.0}\n"), "{output}");
    assert_eq!(output.lines().count(), 1);
}

#[test]
fn scoring_a_scored_file_again_gives_the_same_bytes() {
    let lines: Vec<_> = ["PASS", "x", "RAISES"].iter().map(|word| rollout(0, "a", word)).collect();
    let (once, _) = score(&lines.concat());
    let (twice, _) = score(&once);
    assert_eq!(once, twice);
    // Also when the old scores are nonsense.
    let spoilt = once.replacen("\"total\":", "\"total\":7", 1).replacen("pass", "great", 1);
    assert_ne!(spoilt, once);
    assert_eq!(score(&spoilt).0, once);
}

#[test]
fn bad_lines_are_set_aside_with_their_number_reason_and_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut file = rollout(0, "a", "PASS").into_bytes();
    file.extend_from_slice(b"{\"step\":0}\n[1]\n");
    file.extend_from_slice(rollout(0, "nobody", "PASS").as_bytes());
    file.extend_from_slice(b"\xff\xfe\n");
    file.extend_from_slice(rollout(0, "a", "wrong").as_bytes());
    let bench = Bench::new(dir.path(), "");
    fs::write(bench.path("rollouts.jsonl"), &file).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).unwrap();
    assert_eq!((report.lines, report.scored, report.rejected), (6, 2, 4));
    let named: Vec<_> = report.rejected_lines.iter().map(|bad| bad.line).collect();
    assert_eq!(named, [2, 3, 4, 5]);
    let reason = &report.rejected_lines[2].reason;
    assert!(reason.starts_with("prompt_id `nobody` is no task of `"), "{reason}");
    let rejected = bench.read("out.jsonl.rejected.jsonl");
    let rejected: Vec<Value> =
        rejected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rejected.len(), 4);
    assert_eq!((&rejected[0]["line"], &rejected[0]["text"]), (&2.into(), &"{\"step\":0}".into()));
    assert_eq!(rejected[0]["reason"], "not a rollout: field `prompt_id` is missing");
    assert_eq!(rejected[3]["hex"], "fffe");
    assert_eq!(scored(&bench.read("out.jsonl")).len(), 2);

    // The next scoring without bad lines does not leave these lying there.
    fs::write(bench.path("rollouts.jsonl"), rollout(0, "a", "PASS")).unwrap();
    bench.score("out.jsonl", &asked).unwrap();
    assert!(!bench.path("out.jsonl.rejected.jsonl").exists());
}

#[test]
fn a_strict_run_names_every_bad_line_before_anything_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let file = rollout(0, "a", "PASS") + "{}\n" + &rollout(0, "x", "PASS");
    let bench = Bench::new(dir.path(), &file);
    let judge = Fake::default();
    let bad_lines = BadLines::Refuse;
    let asked = Asked { judge: Some(&judge), bad_lines, ..Asked::default() };
    let err = bench.score("out.jsonl", &asked).unwrap_err();
    assert!(err.is_usage() && err.hint().is_some());
    let ScoreError::BadLines { count: 2, first } = err else { panic!("{err}") };
    assert_eq!(first.iter().map(|(_, bad)| bad.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(judge.calls(), 0);
    assert!(!bench.path("out.jsonl").exists() && !bench.path("out.jsonl.journal").exists());

    fs::write(bench.path("rollouts.jsonl"), rollout(0, "a", "PASS")).unwrap();
    assert_eq!(bench.score("out.jsonl", &asked).unwrap().scored, 1);
}

#[test]
fn without_running_no_verdict_is_claimed() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = "{\"step\":0,\"prompt_id\":\"a\",\"text\":\"I do not know.\"}\n";
    let mut bench = Bench::new(dir.path(), &(rollout(0, "a", "PASS") + nothing));
    bench.rules.reward.composite = Composite::WeightedSum;
    let report = bench.score("out.jsonl", &Asked::default()).unwrap();
    let output = bench.read("out.jsonl");
    let first: Value = serde_json::from_str(output.lines().next().unwrap()).unwrap();
    assert_eq!(first["validation"], serde_json::json!({"skipped": "runtime"}));
    let scored = scored(&output);
    assert!(matches!(&scored[0].score, Some(Score::Scored { outcome, advantage: Some(up) })
            if outcome.evidence == Evidence::NotRun && *up > 0.0));
    assert_eq!(judged(&scored[1]).0, "no_code");
    assert_eq!((report.not_run, report.verdicts.get("pass"), report.scored), (1, None, 2));
    assert_eq!(report.isolation.len(), 0);
}

#[test]
fn a_cached_run_judges_each_program_once_and_the_next_run_none() {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<_> = (0..300).map(|n| format!("PASS {}", n % 20)).collect();
    let lines: Vec<_> = words.iter().map(|word| rollout(0, "a", word)).collect();
    let bench = Bench::new(dir.path(), &lines.concat());
    let plain = Fake::default();
    bench.score("plain.jsonl", &Asked { judge: Some(&plain), ..Asked::default() }).unwrap();
    assert_eq!(plain.calls(), 300);

    let run = |output: &str| {
        let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
        let judge = Fake::default();
        let asked = Asked { judge: Some(&judge), cache: Some(&cache), ..Asked::default() };
        let report = bench.score(output, &asked).unwrap();
        (judge.calls(), report.cache.unwrap())
    };
    let (calls, cache) = run("first.jsonl");
    assert_eq!(
        (calls, cache.stats.misses, cache.stats.hits, cache.stats.stored),
        (20, 20, 280, 20)
    );
    let (calls, cache) = run("second.jsonl");
    assert_eq!((calls, cache.stats.hits, cache.stats.stored), (0, 300, 0));
    assert!((cache.hit_rate - 1.0).abs() < 1e-12);
    assert_eq!(bench.read("plain.jsonl"), bench.read("first.jsonl"));
    assert_eq!(bench.read("plain.jsonl"), bench.read("second.jsonl"));
}

#[test]
fn where_the_tests_themselves_vary_nothing_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let lines = vec![rollout(0, "a", "PASS"); 5];
    let bench = Bench::new(dir.path(), &lines.concat());
    let tasks =
        bench.read("tasks.jsonl").replace("assert f(3)", "import time\\nassert f(time.time())");
    std::fs::write(bench.path("tasks.jsonl"), tasks).unwrap();
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), cache: Some(&cache), ..Asked::default() };
    bench.score("out.jsonl", &asked).unwrap();
    assert_eq!((judge.calls(), cache.stats().stored), (5, 0), "{:?}", cache.stats());
}

#[test]
fn what_may_not_be_kept_is_judged_every_time() {
    let dir = tempfile::tempdir().unwrap();
    let same = ["SLEEPS", "BROKEN", "PASS clock", "wrong clock"];
    let lines: Vec<_> = same.iter().flat_map(|word| vec![rollout(0, "a", word); 5]).collect();
    let program = |line: String| {
        line.replace("def f", "import time\\ndef f").replace("return x", "return time.time()")
    };
    let lines: Vec<_> = lines
        .into_iter()
        .map(|line| if line.contains("clock") { program(line) } else { line })
        .collect();
    let bench = Bench::new(dir.path(), &lines.concat());
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), cache: Some(&cache), ..Asked::default() };
    bench.score("out.jsonl", &asked).unwrap();
    assert_eq!((judge.asked("SLEEPS"), judge.asked("BROKEN"), judge.asked("PASS")), (5, 5, 5));
    // The wrong one has passed a test, by chance perhaps, and is paid for it.
    assert_eq!(judge.asked("wrong"), 5);
    assert_eq!(cache.stats().stored, 0, "{:?}", cache.stats());
    let next = Fake::default();
    bench.score("out.jsonl", &Asked { judge: Some(&next), ..asked }).unwrap();
    assert_eq!((next.asked("SLEEPS"), next.asked("BROKEN"), next.asked("PASS")), (5, 5, 5));
    assert_eq!(next.asked("wrong"), 5);
}

/// Programs that were run when the same file was scored with these seconds of CPU time.
fn judged_within(bench: &mut Bench, cache: &Cache, seconds: u64) -> (usize, usize) {
    bench.limits.cpu = std::time::Duration::from_secs(seconds);
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), cache: Some(cache), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).expect("it can be scored");
    assert_eq!(report.verdicts["timeout"], 10);
    let own: Vec<f64> = scored(&bench.read("out.jsonl"))
        .iter()
        .map(|line| match &line.score {
            Some(Score::Scored { outcome, .. }) => {
                outcome.judgement().expect("a program was judged").cpu_ms()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let most = std::time::Duration::from_secs(seconds).as_secs_f64() * 1000.0;
    assert!(own.iter().all(|&spent| spent <= most), "as if measured now: {own:?}");
    (judge.asked("NONE"), judge.asked("HALF"))
}

#[test]
fn a_timeout_is_kept_with_its_limit_and_answers_that_one_and_lower_ones() {
    let dir = tempfile::tempdir().unwrap();
    let lines: Vec<_> =
        ["SLOW NONE", "SLOW HALF"].iter().flat_map(|word| vec![rollout(0, "a", word); 5]).collect();
    let mut bench = Bench::new(dir.path(), &lines.concat());
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    assert_eq!(judged_within(&mut bench, &cache, 5), (1, 1), "equal programs are run once");
    assert_eq!(judged_within(&mut bench, &cache, 5), (0, 0), "the same limit");
    assert_eq!(judged_within(&mut bench, &cache, 8), (1, 1), "it might end in time");
    assert_eq!(judged_within(&mut bench, &cache, 8), (0, 0));
    let lower = judged_within(&mut bench, &cache, 3);
    assert_eq!(lower, (0, 1), "what passed a test might have passed none by then");
    // The higher limit is still known.
    assert_eq!(judged_within(&mut bench, &cache, 8).0, 0);
    drop(cache);
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    assert_eq!(judged_within(&mut bench, &cache, 7).0, 0, "from the file too");
}

#[test]
fn a_task_without_tests_is_worth_its_static_terms_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let nothing = "{\"step\":0,\"prompt_id\":\"p\",\"text\":\"I do not know.\"}\n";
    let lines = [rollout(0, "a", "PASS"), rollout(0, "p", "PASS"), nothing.to_owned()].concat();
    let mut bench = Bench::new(dir.path(), &lines);
    bench.rules.reward.composite = Composite::WeightedSum;
    let tasks = bench.read("tasks.jsonl") + "{\"id\":\"p\",\"statement\":\"A prompt.\"}\n";
    fs::write(bench.path("tasks.jsonl"), tasks).unwrap();
    let cache = Cache::open(&bench.path("cache.redb"), Bounds::default()).unwrap();
    for cache in [None, Some(&cache)] {
        let judge = Fake::default();
        let asked = Asked { judge: Some(&judge), cache, ..Asked::default() };
        let report = bench.score("out.jsonl", &asked).unwrap();
        assert_eq!(judge.calls(), 1, "nothing is run for a prompt alone");
        assert_eq!((report.scored, report.untested, report.not_run), (3, 2, 1));
        let scored = scored(&bench.read("out.jsonl"));
        let Some(Score::Scored { outcome, .. }) = &scored[0].score else { panic!("no outcome") };
        assert!(outcome.judgement().is_some());
        let Some(Score::Scored { outcome, advantage: Some(up) }) = &scored[1].score else {
            panic!("{:?}", scored[1].score)
        };
        assert_eq!(outcome.evidence, Evidence::NotRun);
        let reward = &outcome.reward;
        assert!(!reward.terms().contains_key("tests") && reward.total() > 0.0, "{reward:?}");
        assert!(*up > 0.0);
        assert_eq!(judged(&scored[2]).0, "no_code");
    }
}

#[test]
fn inputs_that_cannot_be_used_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &rollout(0, "a", "PASS"));
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), ..Asked::default() };
    let err = bench.score("rollouts.jsonl", &asked).unwrap_err();
    assert!(matches!(err, ScoreError::Batch(BatchError::SameFile { .. })), "{err}");
    fs::write(bench.path("out.jsonl.journal"), "my notes\n").unwrap();
    let err = bench.score("out.jsonl", &asked).unwrap_err();
    assert!(matches!(err, ScoreError::Batch(BatchError::Journal(_))), "{err}");
    assert_eq!(bench.read("out.jsonl.journal"), "my notes\n");
    fs::write(bench.path("tasks.jsonl"), "{\"id\":1}\n").unwrap();
    let err = bench.score("other.jsonl", &asked).unwrap_err();
    assert!(matches!(err, ScoreError::NoTasks { first: Some(_), .. }), "{err}");
    fs::remove_file(bench.path("tasks.jsonl")).unwrap();
    let err = bench.score("other.jsonl", &asked).unwrap_err();
    assert!(err.is_usage() && err.to_string().contains("tasks.jsonl"), "{err}");
}

#[test]
fn a_file_that_changes_under_our_hands_is_not_scored() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::new(dir.path(), &rollout(0, "a", "PASS").repeat(4));
    let on_line =
        || fs::write(bench.path("rollouts.jsonl"), rollout(1, "a", "PASS").repeat(4)).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), on_line: Some(&on_line), ..Asked::default() };
    let err = bench.score("out.jsonl", &asked).unwrap_err();
    assert!(matches!(err, ScoreError::Batch(BatchError::Changed { .. })), "{err}");
    assert!(!bench.path("out.jsonl").exists());
}

#[test]
fn replies_to_tasks_that_ask_for_no_program_are_told_to_their_environment() {
    let dir = tempfile::tempdir().unwrap();
    let line = |sample: u32, earlier: &[&str], text: &str| {
        let turns: Vec<_> = earlier.iter().map(|text| serde_json::json!({"text": text})).collect();
        let turns = [turns, vec![serde_json::json!({})]].concat();
        let meta = serde_json::json!({"turns": turns});
        let line =
            serde_json::json!({"prompt_id": "g", "group_id": sample, "text": text, "meta": meta});
        format!("{line}\n")
    };
    // At once, at the second guess, never, and cut short after the first guess.
    let lines = [line(0, &[], "7"), line(1, &["3"], "7"), line(2, &["3"], "4"), line(3, &[], "3")];
    let bench = Bench::new(dir.path(), &[lines.concat(), rollout(0, "a", "PASS")].concat());
    let task = r#"{"id":"g","statement":"Guess.","body":{"kind":"guess","number":7}}"#;
    let tasks = bench.read("tasks.jsonl") + task + "\n";
    fs::write(bench.path("tasks.jsonl"), tasks).unwrap();
    let judge = Fake::default();
    let asked = Asked { judge: Some(&judge), ..Asked::default() };
    let report = bench.score("out.jsonl", &asked).unwrap();
    let scored = scored(&bench.read("out.jsonl"));
    let found: Vec<_> = scored.iter().map(|line| (judged(line).0, judged(line).1)).collect();
    let expected =
        [("solved", 1.0), ("solved", 0.55), ("unsolved", 0.1), ("unsolved", 0.0), ("pass", 1.0)];
    let same = |(found, expected): (&(&str, f64), &(&str, f64))| {
        found.0 == expected.0 && (found.1 - expected.1).abs() < 1e-12
    };
    assert!(found.iter().zip(&expected).all(same) && found.len() == 5, "{found:?}");
    let Some(Score::Scored { outcome, .. }) = &scored[1].score else { panic!("no outcome") };
    let Evidence::Observed(seen) = &outcome.evidence else { panic!("{outcome:?}") };
    assert_eq!(seen.facts.get("guesses"), Some("2"));
    assert_eq!((report.verdicts["solved"], report.verdicts["unsolved"]), (2, 2));
    assert_eq!((report.untested, report.not_run, report.paid_without_pass), (0, 0, Some(1)));
}
