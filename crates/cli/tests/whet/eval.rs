//! `whet eval`: given samples, servers of our own, the student that ships; and comparisons.
// size: one command, with the servers and files that it is tried on.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use whetstone_remote::loopback::chat::{Act, ChatServer, Manners};
use whetstone_remote::loopback::http::Reply;

use crate::binary::{Ran, whet_in};
use crate::teach::{said, task};

/// Some tasks that are solved by adding one, half of them from `a` and half from `b`.
fn write_tasks(dir: &Path, count: usize) {
    let line = |at: usize| {
        let source = if at.is_multiple_of(2) { "a" } else { "b" };
        task(&format!("t/{at}"), &format!(r#","source":"{source}""#))
    };
    fs::write(dir.join("tasks.jsonl"), (0..count).map(line).collect::<String>()).unwrap();
}

const RIGHT: &str = "```python\ndef f(x):\n    return x + 1\n```";
const WRONG: &str = "```python\ndef f(x):\n    return x\n```";

/// A rollout of a task.
fn sample(task: usize, text: &str) -> String {
    format!("{}\n", json!({"step": 0, "prompt_id": format!("t/{task}"), "text": text}))
}

/// Runs `whet eval` on `tasks.jsonl`.
fn eval(dir: &Path, flags: &[&str]) -> Ran {
    whet_in(dir, &[&["eval", "--tasks", "tasks.jsonl"], flags].concat())
}

/// Measures given samples into `out`.
fn given(dir: &Path, samples: &str, out: &str, flags: &[&str]) -> Ran {
    fs::write(dir.join("samples.jsonl"), samples).unwrap();
    eval(dir, &[&["--samples", "samples.jsonl", "--out", out], flags].concat())
}

fn results(dir: &Path, out: &str) -> Value {
    let text = fs::read_to_string(dir.join(out).join("evaluation_results.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn given_samples_are_judged_anew_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 4);
    // The last one claims to have passed.
    let claim = format!(
        "{}\n",
        json!({"step": 3, "prompt_id": "t/3", "text": WRONG, "validation": {"verdict": "pass"},
               "reward": {"total": 1.0}, "meta": {"finish": 7}})
    );
    let samples = [
        sample(0, RIGHT),
        sample(0, RIGHT),
        sample(1, RIGHT),
        sample(1, WRONG),
        sample(2, WRONG),
        sample(2, "I do not know."),
        sample(3, WRONG),
        claim,
    ];
    let ran = given(dir.path(), &samples.concat(), "out", &["--k", "1,2"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("pass@  1: 0.3750 (37.50%) ["), "{}", ran.out);
    assert!(ran.out.contains("pass@  2: 0.5000 (50.00%) ["), "{}", ran.out);
    assert!(ran.out.contains("\n  a                     2  50.0 % ["), "{}", ran.out);
    let found = results(dir.path(), "out");
    assert_eq!(found["verdicts"], json!({"no_code": 1, "pass": 3, "wrong": 4}));
    assert_eq!(found["causes"], json!({"no_code": {"prose": 1}}));
    assert!(
        ran.out.contains("\n  no_code: prose                          1   12.5%\n"),
        "{}",
        ran.out
    );
    assert_eq!((&found["greedy"], &found["num_samples"]), (&Value::Null, &json!(2)));
    assert_eq!(found["by_source"]["b"]["pass_at_k"]["1"]["value"], 0.25);
    let mut task = found["by_task"][1].clone();
    let figures = task["figures"].take();
    assert_eq!(
        task,
        json!({"id": "t/1", "samples": 2, "passed": 1, "greedy": null, "figures": null,
            "no_code": {"samples": 0, "greedy": false}})
    );
    assert_eq!(
        (&figures["syntax_rate"], &figures["diversity_passing"]),
        (&json!(1.0), &Value::Null)
    );
    assert!(figures["quality"].as_f64() > Some(0.0) && figures["diversity"].as_f64() > Some(0.0));
    // One of eight replies has no program.
    assert_eq!(found["figures"]["syntax_rate"]["value"], 0.875);
    assert_eq!(found["figures"]["tests_passed"]["value"], 0.375);
    assert_eq!(found["figures"]["diversity_passing"]["value"], 0.0, "two passes with one program");
    assert_eq!(found["figures"]["diversity"]["left_out"], 1, "one task has one program");
    assert!(ran.out.contains("\n  syntax rate          87.5 % ["), "{}", ran.out);
    // What was measured can be scored, and measured again.
    let args = ["score", "out/rollouts.jsonl", "--prompts", "tasks.jsonl", "--out", "again.jsonl"];
    assert_eq!(whet_in(dir.path(), &args).code, 0);
    let again = ["--samples", "again.jsonl", "--k", "1,2", "--out", "again", "--json"];
    let again: Value = serde_json::from_str(&eval(dir.path(), &again).out).unwrap();
    assert_eq!((&again["pass_at_k"], &again["by_task"]), (&found["pass_at_k"], &found["by_task"]));
    assert_eq!(again["figures"], found["figures"]);
}

#[test]
fn hostile_completions_break_neither_the_table_nor_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let source = r#","source":"\u001b[31mred\u001b[0m","difficulty":"\u0007loud""#;
    let tasks = task("t/0", source) + &task("t/1", "");
    fs::write(dir.path().join("tasks.jsonl"), tasks).unwrap();
    let long = format!("<think>{}</think>{RIGHT}", "\u{1b}x".repeat(1 << 19));
    let mut samples =
        [sample(0, &long), sample(1, "\u{1b}[2J\u{0}\u{fffd}```python\n\u{1b}]0;hi\u{7}\n```")]
            .concat()
            .into_bytes();
    samples.extend(b"{\"step\":0,\"prompt_id\":\"t/0\",\"text\":\"\xff\xfe\"}\n");
    samples.extend(sample(9, RIGHT).as_bytes());
    fs::write(dir.path().join("samples.jsonl"), samples).unwrap();
    let ran = eval(dir.path(), &["--samples", "samples.jsonl", "--k", "1"]);
    assert_eq!(ran.code, 1, "two lines are set aside: {}{}", ran.out, ran.err);
    assert!(!ran.out.contains(['\u{1b}', '\u{7}']) && !ran.err.contains('\u{1b}'), "{}", ran.out);
    assert!(ran.err.contains("samples.jsonl:3: not UTF-8"), "{}", ran.err);
    assert!(ran.err.contains("samples.jsonl:4: prompt_id `t/9` is no task"), "{}", ran.err);
    let found = results(dir.path(), "outputs");
    assert_eq!((&found["rejected"], &found["pass_at_k"]["1"]["value"]), (&json!(2), &json!(0.5)));
    assert_eq!(found["by_source"]["\u{1b}[31mred\u{1b}[0m"]["tasks"], 1);
}

#[test]
fn what_cannot_be_measured_is_said_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 2);
    let refused = |ran: Ran, parts: &[&str]| {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{part}\n{}", ran.err);
        }
    };
    let many = eval(dir.path(), &["--num-samples", "4", "--k", "1,5"]);
    refused(many, &["pass@5 needs 5 samples, and `eval.num_samples` is 4", "smaller values of k"]);
    let few = given(dir.path(), &sample(0, RIGHT), "few", &["--k", "1,5"]);
    refused(few, &["pass@5 needs 5 samples and there are 1; sample more or ask for a smaller k"]);
    let none = given(dir.path(), "", "none", &["--k", "1"]);
    refused(none, &["pass@1 needs 1 samples and there are 0"]);
    refused(eval(dir.path(), &["--model", "nowhere/at/all"]), &["there is no model at"]);
    let long = eval(dir.path(), &["--model", "embedded", "--max-tokens", "1024"]);
    refused(long, &["as long as the model's whole context", "hint: lower `--max-tokens`"]);
    fs::write(dir.path().join("tasks.jsonl"), "\n").unwrap();
    refused(eval(dir.path(), &[]), &["there is nothing to measure: no tasks", "whet data prepare"]);
}

#[test]
fn a_comparison_finds_what_changed_and_refuses_other_tasks() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 30);
    let side = |right: usize| -> String {
        (0..30).map(|at| sample(at, if at < right { RIGHT } else { WRONG })).collect()
    };
    for (out, right) in [("low", 5), ("high", 20), ("same", 6)] {
        let ran = given(dir.path(), &side(right), out, &["--k", "1"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let compare = |a: &str, b: &str| whet_in(dir.path(), &["eval", "compare", a, b]);
    let better = compare("low", "high/evaluation_results.json");
    assert_eq!(better.code, 0, "{}", better.err);
    assert!(better.out.contains("+50.0 points [+"), "{}", better.out);
    assert!(better.out.contains("better\n") && better.out.contains("\n  gained: 15\n"));
    assert!(better.out.contains("    0/1 -> 1/1       t/10\n"), "{}", better.out);
    let tests: &str = better.out.lines().find(|line| line.contains("tests passed")).unwrap();
    assert!(tests.contains("+50.0 points [+") && tests.ends_with("better"), "{tests}");
    let json = whet_in(dir.path(), &["eval", "compare", "low", "high", "--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["figures"]["tests_passed"]["difference"]["value"], 0.5);
    // Results from before there were figures.
    let mut old = results(dir.path(), "low");
    old.as_object_mut().unwrap().remove("figures");
    for task in old["by_task"].as_array_mut().unwrap() {
        task.as_object_mut().unwrap().remove("figures");
    }
    fs::write(dir.path().join("old.json"), old.to_string()).unwrap();
    let old = compare("old.json", "high");
    assert!(old.code == 0 && old.out.contains("+50.0 points [+"), "{}{}", old.out, old.err);
    assert!(old.out.contains("quality and diversity: not in both"), "{}", old.out);
    let same = compare("low", "same");
    assert!(same.out.contains("1.0000  no task differs: too little to say\n"), "{}", same.out);
    assert!(compare("high", "low").out.contains("worse\n"));
    write_tasks(dir.path(), 29);
    let fewer: String = (0..29).map(|at| sample(at, RIGHT)).collect();
    assert_eq!(given(dir.path(), &fewer, "other", &["--k", "1"]).code, 0);
    let other = compare("low", "other");
    assert_eq!((other.code, other.out.as_str()), (2, ""));
    assert!(other.err.contains("task `t/29` was measured on one side only"), "{}", other.err);
    assert!(other.err.contains("hint: measure both on the same tasks"), "{}", other.err);
    let nothing = compare("low", "tasks.jsonl");
    assert!(nothing.err.contains("`tasks.jsonl` does not hold the results"), "{}", nothing.err);
    assert_eq!(nothing.code, 2);
}

/// Of 30 tasks the three seeds of A solve 5, 6 and 4, those of B 20, 18 and 22: 15, 12 and 18 more, 50.0 points with the
/// standard deviation 10, so ± 4.303 · 10 / √3 = 24.8.
#[test]
fn seeds_are_compared_with_an_interval_over_seeds() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 30);
    let side = |right: usize| -> String {
        (0..30).map(|at| sample(at, if at < right { RIGHT } else { WRONG })).collect()
    };
    for (out, right) in [("a1", 5), ("a2", 6), ("a3", 4), ("b1", 20), ("b2", 18), ("b3", 22)] {
        assert_eq!(given(dir.path(), &side(right), out, &["--k", "1"]).code, 0);
    }
    let compare = |a: &str, b: &str, flags: &[&str]| {
        whet_in(dir.path(), &[&["eval", "compare", "--seeds", a, b], flags].concat())
    };
    let found = compare("a1,a2,a3", "b1,b2,b3/evaluation_results.json", &[]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.contains("3 seeds, paired in this order, on 30 tasks"), "{}", found.out);
    assert!(found.out.contains("  pass@1   16.7 %    66.7 %    +50.0 points\n"), "{}", found.out);
    assert!(found.out.contains("           20.0 %    60.0 %    +40.0 points\n"), "{}", found.out);
    let mean = found.out.lines().find(|line| line.contains("over seeds  ")).unwrap();
    assert!(mean.contains("+50.0 points [+25.2, +74.8]") && mean.ends_with("better"), "{mean}");
    assert!(found.out.contains("over seeds and tasks +50.0 points [+"), "{}", found.out);
    let json = compare("a1,a2,a3", "b1,b2,b3", &["--json"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let one = &json["pass_at_k"]["1"];
    assert_eq!(one["by_seed"][2]["difference"], json!(22.0 / 30.0 - 4.0 / 30.0));
    assert!((one["over_seeds"]["low"].as_f64().unwrap() - 0.2516).abs() < 1e-4, "{one}");
    assert_eq!((&json["before"], &json["tasks"]), (&json!(["a1", "a2", "a3"]), &json!(30)));
    let refused = |a: &str, b: &str, problem: &str| {
        let ran = compare(a, b, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(problem) && ran.err.contains("hint: "), "{}", ran.err);
    };
    refused("a1,a2,a3", "b1,b2", "A has 3 (`a1`, `a2`, `a3`), B has 2 (`b1`, `b2`)");
    refused("a1", "b1", "one seed has no interval over seeds");
    write_tasks(dir.path(), 29);
    let fewer: String = (0..29).map(|at| sample(at, RIGHT)).collect();
    assert_eq!(given(dir.path(), &fewer, "other", &["--k", "1"]).code, 0);
    refused("a1,a2", "b1,other", "task `t/29` is in `a1` and not in `other`");
}

/// A right function with a wrong assert of its own, one with a print that raises, and a wrong function.
#[test]
fn what_stands_around_a_function_is_judged_unless_its_entry_point_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 3);
    let with = |more: &str| RIGHT.replace("\n```", more);
    let samples = [
        sample(0, &with("\n\nassert f(1) == 3\n```")),
        sample(1, &with("\n\nprint(f(1) / 0)\n```")),
        sample(2, WRONG),
    ];
    let whole = given(dir.path(), &samples.concat(), "whole", &["--k", "1"]);
    assert_eq!(whole.code, 0, "{}{}", whole.out, whole.err);
    let found = results(dir.path(), "whole");
    assert_eq!(found["verdicts"], json!({"load_error": 2, "wrong": 1}));
    let causes = json!({"load_error": {"ZeroDivisionError": 1, "own_test_failed": 1}});
    assert_eq!((&found["causes"], &found["settings"]["eval.sanitize"]), (&causes, &Value::Null));
    let part = ["--k", "1", "--set", "eval.sanitize=entry_point"];
    let cut = given(dir.path(), &samples.concat(), "cut", &part);
    assert!(cut.out.contains("judged of a program: what its entry point needs"), "{}", cut.out);
    let found = results(dir.path(), "cut");
    assert_eq!(found["verdicts"], json!({"pass": 2, "wrong": 1}));
    assert_eq!(found["settings"]["eval.sanitize"], "entry_point");
    let kept = lines(&dir.path().join("cut/rollouts.jsonl"));
    assert!(
        kept[0]["text"].as_str().unwrap().contains("assert f(1) == 3"),
        "the reply stays whole"
    );
    // Rewards are those of the whole program, whatever the evaluation is set to.
    let score = [
        "score",
        "samples.jsonl",
        "--prompts",
        "tasks.jsonl",
        "--set",
        "eval.sanitize=entry_point",
    ];
    let scored = whet_in(dir.path(), &score);
    assert_eq!(scored.code, 0, "{}{}", scored.out, scored.err);
    let kept = lines(&dir.path().join("samples.scored.jsonl"));
    assert_eq!(kept[0]["validation"]["verdict"], "load_error");
    let row = "\n  load_error: own_test_failed             1    33.3%\n";
    assert!(scored.out.contains(row), "{}", scored.out);
}

fn server(act: impl Fn(u64) -> Act + Send + Sync + 'static) -> ChatServer {
    let act = Box::new(move |number, _: &Value| act(number));
    ChatServer::start(Manners { act, text: Box::new(said), ..Manners::default() })
}

/// Flags for a server that is asked for four samples of each task, two at a time.
fn asking(url: &str) -> Vec<String> {
    let flags = ["--server", url, "--model", "m", "--num-samples", "4", "--k", "1,4"];
    let settings = ["--set", "teacher.max_concurrent_requests=2", "--set", "teacher.max_tries=1"];
    flags.into_iter().chain(settings).map(str::to_owned).collect()
}

fn ask(dir: &Path, url: &str, more: &[&str]) -> Ran {
    let flags = asking(url);
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
    eval(dir, &flags)
}

#[test]
fn a_draft_in_thinking_that_a_server_was_cut_off_in_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 2);
    let server = crate::teach::cut_off_in_its_thinking();
    let ran = ask(dir.path(), &server.url(), &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(results(dir.path(), "outputs")["verdicts"], json!({"no_code": 8}));
}

#[test]
fn a_server_is_asked_for_samples_and_for_the_likeliest_tokens() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 5);
    let server = server(|_| Act::Answer);
    let ran = ask(dir.path(), &server.url(), &["--temperature", "0.5", "--max-tokens", "77"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let asked: Vec<Value> = server
        .requests()
        .iter()
        .filter_map(|request| serde_json::from_slice(&request.body).ok())
        .collect();
    assert_eq!(asked.len(), 25);
    assert!(
        asked.iter().all(|request| request["model"] == "m" && request["max_tokens"] == 77),
        "{asked:?}"
    );
    assert_eq!(asked.iter().filter(|request| request["temperature"] == 0.0).count(), 5);
    assert_eq!(asked.iter().filter(|request| request["temperature"] == 0.5).count(), 20);
    assert!(asked[0]["messages"][0]["content"].as_str().unwrap().contains("Add one (t/"));
    let found = results(dir.path(), "outputs");
    assert_eq!((&found["model"], &found["errors"]), (&json!("m"), &json!(0)));
    assert_eq!(found["greedy"]["tasks"], 5);
    let kept = lines(&dir.path().join("outputs/rollouts.jsonl"));
    assert_eq!(kept.len(), 25);
    let passed = |line: &&Value| line["step"] == 0 && line["validation"]["verdict"] == "pass";
    assert_eq!(found["verdicts"]["pass"], kept.iter().filter(passed).count());
    let again = ask(dir.path(), &server.url(), &[]);
    assert_eq!(again.code, 2);
    assert!(again.err.contains("outputs/evaluation_results.json` exists already"), "{}", again.err);
    assert!(again.err.contains("hint: `--fresh` measures again"), "{}", again.err);
}

#[test]
fn every_temperature_is_measured_apart_and_the_better_one_of_each_side_compared() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 5);
    let server = server(|_| Act::Answer);
    let ran = ask(dir.path(), &server.url(), &["--temperatures", "0.5,0.25"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let asked = |temperature: f64| {
        let requests = server.requests();
        let at = |body: &[u8]| {
            serde_json::from_slice::<Value>(body)
                .is_ok_and(|request| request["temperature"] == temperature)
        };
        requests.iter().filter(|request| at(&request.body)).count()
    };
    assert_eq!([0.5, 0.25, 0.0].map(asked), [20, 20, 5]);
    let found = results(dir.path(), "outputs");
    let cold = &found["by_temperature"]["T=0.25"]["pass_at_k"]["1"];
    assert_eq!(
        (&cold["tasks"], found["settings"]["eval.more_temperatures"].as_str()),
        (&json!(5), Some("0.25"))
    );
    let line = format!("({:.2}%)", 100.0 * cold["value"].as_f64().unwrap());
    assert!(
        ran.out.lines().any(|said| said.contains(&line) && said.ends_with(", T=0.25")),
        "{}",
        ran.out
    );
    let kept = lines(&dir.path().join("outputs/rollouts.jsonl"));
    let of = |kept: &[Value]| {
        kept.iter().filter(|line| line["meta"]["further_temperature"] == 0.25).count()
    };
    assert_eq!((kept.len(), of(&kept)), (45, 20));
    let counted: u64 = found["by_task"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            assert_eq!(task["by_temperature"]["T=0.25"]["samples"], 4, "{task}");
            task["by_temperature"]["T=0.25"]["passed"].as_u64().unwrap()
        })
        .sum();
    let passed = |line: &&Value| line["step"] == 2 && line["validation"]["verdict"] == "pass";
    assert_eq!(usize::try_from(counted).unwrap(), kept.iter().filter(passed).count());
    let compared = whet_in(dir.path(), &["eval", "compare", "outputs", "outputs"]);
    assert!(compared.out.contains("\n  T=0.25   "), "{}", compared.out);
    assert!(
        compared.out.contains("  at the better temperature of each side: A ("),
        "{}",
        compared.out
    );
    let json = whet_in(dir.path(), &["eval", "compare", "--json", "outputs", "outputs"]);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let decodings: Vec<&String> = json["by_temperature"].as_object().unwrap().keys().collect();
    assert_eq!(decodings, ["T=0.5", "T=0.25", "greedy"]);
    assert!(
        json["better_temperature"]["gain"]["difference"]["value"].as_f64().unwrap().abs() < 1e-12
    );
    // Judged again, the samples count where they did.
    let again = [
        "eval",
        "--tasks",
        "tasks.jsonl",
        "--samples",
        "outputs/rollouts.jsonl",
        "--out",
        "again",
        "--k",
        "1",
    ];
    assert_eq!(whet_in(dir.path(), &again).code, 0);
    assert_eq!(results(dir.path(), "again")["by_temperature"]["T=0.25"]["pass_at_k"]["1"], *cold);
}

#[test]
fn a_server_that_fails_or_goes_away_costs_nothing_that_was_judged() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 9);
    let refuse =
        |status| Act::Send(Reply::json(status, &json!({"error": {"message": "\u{1b}[31mno"}})));
    // Twenty samples are answered, then the key is not good any more.
    let gone = server(move |number| if number < 20 { Act::Answer } else { refuse(401) });
    let ran = ask(dir.path(), &gone.url(), &[]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("refuses the request with status 401"), "{}", ran.err);
    assert!(ran.err.contains("the same command resumes"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
    let changed = ask(dir.path(), &gone.url(), &["--temperature", "0.5"]);
    assert_eq!(changed.code, 2);
    assert!(changed.err.contains("other inputs: `eval.temperature` changed"), "{}", changed.err);
    // One request in five fails: these samples are counted apart, and asked for by the next run.
    let flaky = server(move |number| if number % 5 == 4 { refuse(400) } else { Act::Answer });
    let ran = ask(dir.path(), &flaky.url(), &["--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(found["errors"].as_u64() >= Some(2), "{found:#}");
    // How many of the twenty were judged before the key failed depends on the machine.
    assert!(flaky.asked() < 45, "what was judged was kept: {}", flaky.asked());
    let mended = server(|_| Act::Answer);
    let ran = ask(dir.path(), &mended.url(), &["--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&found["errors"], &found["pass_at_k"]["4"]["tasks"]), (&json!(0), &json!(9)));
    assert!(!dir.path().join("outputs/rollouts.jsonl.journal").exists());
    let nobody = ask(dir.path(), "http://127.0.0.1:1/v1/chat/completions", &["--out", "n"]);
    assert_eq!(nobody.code, 3, "{}", nobody.err);
    let wrong = ask(dir.path(), "127.0.0.1:1", &["--out", "n"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("hint: `--server` is a whole address"), "{}", wrong.err);
}

#[test]
fn a_base_address_is_enough_and_retries_are_told() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 2);
    let busy = || Act::Send(Reply::json(429, &json!({"error": {"message": "busy"}})));
    let server = server(move |number| if number == 3 { busy() } else { Act::Answer });
    let base = server.url().replace("/v1/chat/completions", "");
    let ran = ask(dir.path(), &base, &["--set", "teacher.max_tries=3"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let told = ran.err.lines().find(|line| line.contains("(2 of 3): ")).expect("it is told");
    assert!(told.starts_with("trying again in 0.") && told.contains("busy"), "{told}");
    assert!(ran.err.lines().any(|line| line == "1 retried: 429"), "{}", ran.err);
    let lost = ChatServer::start(Manners {
        act: Box::new(|_, _| Act::Send(Reply::json(404, &json!({"error": "no such page"})))),
        ..Manners::default()
    });
    let ran = ask(dir.path(), &lost.url(), &["--out", "lost"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("hint: `--server` usually ends in /v1"), "{}", ran.err);
}

#[test]
fn killed_it_goes_on_and_asks_for_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    write_tasks(dir.path(), 40);
    let calm = server(|_| Act::Answer);
    assert_eq!(ask(dir.path(), &calm.url(), &["--out", "calm"]).code, 0);
    // From the twenty-fourth on, every request is held until the test lets it go.
    let ((ask_leave, asked), (leave, given)) = (channel(), channel::<()>());
    let door = Mutex::new((ask_leave, given));
    let watched = server(move |number| {
        if number >= 24 {
            let door = door.lock().unwrap();
            let _ = door.0.send(());
            let _ = door.1.recv();
        }
        Act::Answer
    });
    let flags = asking(&watched.url());
    let mut whet = Command::new(env!("CARGO_BIN_EXE_whet"))
        .args(["eval", "--tasks", "tasks.jsonl", "--out", "killed"])
        .args(&flags)
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let journal = dir.path().join("killed/rollouts.jsonl.journal");
    // What it was asked, and sixteen samples. What was judged is kept when the next answer comes.
    loop {
        asked.recv_timeout(Duration::from_mins(1)).expect("a request that is held");
        if fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) > 16 {
            break;
        }
        leave.send(()).unwrap();
    }
    whet.kill().unwrap();
    whet.wait().unwrap();
    drop(leave);
    let rest = server(|_| Act::Answer);
    let ran = ask(dir.path(), &rest.url(), &["--out", "killed"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(rest.asked() <= 200 - 16 + 1, "four tasks were kept: {}", rest.asked());
    let timeless = |out: &str| -> Vec<Value> {
        let mut lines = lines(&dir.path().join(out).join("rollouts.jsonl"));
        for line in &mut lines {
            line["validation"].as_object_mut().unwrap().remove("cpu_ms");
        }
        lines
    };
    assert_eq!(timeless("killed"), timeless("calm"));
    assert_eq!(results(dir.path(), "killed"), results(dir.path(), "calm"));
}

#[test]
fn the_student_that_ships_is_measured_on_tasks_that_whet_composes() {
    let dir = tempfile::tempdir().unwrap();
    let prepare = ["data", "prepare", "--embedded", "40", "--skip-apps"];
    let ran = whet_in(dir.path(), &prepare);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let flags = |out: &'static str| {
        let limits = ["--num-samples", "2", "--k", "1,2", "--max-tokens", "24", "--max-tasks", "3"];
        [&["eval", "--model", "embedded", "--json", "--out", out][..], &limits].concat()
    };
    let measured = |out| -> Value {
        let ran = whet_in(dir.path(), &flags(out));
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let (one, other) = (measured("one"), measured("other"));
    assert_eq!((&one["tasks"], &one["num_samples"]), (&json!(3), &json!(2)));
    assert_eq!(one["greedy"]["tasks"], 3);
    assert_eq!((&one["by_task"], &one["verdicts"]), (&other["by_task"], &other["verdicts"]));
    let texts = |out: &str| -> Vec<Value> {
        let lines = lines(&dir.path().join(out).join("rollouts.jsonl"));
        lines.into_iter().map(|line| line["text"].clone()).collect()
    };
    assert_eq!(texts("one"), texts("other"), "the same seed draws the same samples");
    assert_eq!(texts("one").len(), 9);
}

/// HumanEval is read from `../shared/data` beside the repository where it is there.
#[test]
fn the_solutions_of_humaneval_pass_and_its_prompts_alone_do_not() {
    let file = "../../../shared/data/humaneval/HumanEval.jsonl.gz";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if !file.exists() {
        eprintln!("SKIPPED: {} is not there", file.display());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = file.display().to_string();
    let ran = whet_in(dir.path(), &["data", "prepare", "--humaneval", &file, "--out", "."]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let parts = ["train.jsonl", "dev.jsonl", "val.jsonl"].map(|name| dir.path().join(name));
    let parts = parts.map(|path| fs::read_to_string(path).unwrap());
    fs::write(dir.path().join("tasks.jsonl"), parts.concat()).unwrap();
    let tasks = lines(&dir.path().join("tasks.jsonl"));
    assert_eq!(tasks.len(), 164);
    for (field, expected) in [("reference", 1.0), ("statement", 0.0)] {
        let sample = |task: &Value| {
            let text = format!("```python\n{}\n```", task[field].as_str().unwrap());
            format!("{}\n", json!({"step": 0, "prompt_id": task["id"], "text": text}))
        };
        let samples: String = tasks.iter().map(sample).collect();
        let ran = given(dir.path(), &samples, field, &["--k", "1"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let one = &results(dir.path(), field)["pass_at_k"]["1"];
        assert_eq!((&one["value"], &one["tasks"]), (&json!(expected), &json!(164)));
    }
}
