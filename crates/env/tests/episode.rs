//! An episode of the Python environment, with a stand-in for the judge.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};

use whetstone_core::Seed;
use whetstone_core::config::{PromptConfig, RewardConfig};
use whetstone_core::extract::Reply;
use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::message::Role;
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_core::wire::Wire;
use whetstone_env::environment::{EnvError, Environment, Episode, Next, Outcome};
use whetstone_env::python::{PythonEnvironment, Rules};
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};

const TASK: &str = r#"{"v":1,"id":"t/1","statement":"Add two numbers.","setup":"import math",
    "tests":{"kind":"asserts","visible":["assert add(1, 2) == 3"],
             "hidden":["assert add(40, 2) == 42","assert add(0, 0) == 0"]}}"#;

const GOOD: &str = "<think>\nEasy.\n</think>\n\n```python\ndef add(a, b):\n    return a + b\n```\n";

/// Says what it was told to say, and remembers the programs.
struct Fake {
    says: Result<Judgement, Infrastructure>,
    seen: Mutex<Vec<String>>,
}

impl Judging for Fake {
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
        assert_eq!(job.setup, "import math");
        assert_eq!(job.tests.hidden_count(), 2);
        self.seen.lock().unwrap().push(job.program.source.clone());
        Ok(self.says.clone()?)
    }
}

fn task(json: &str) -> Task {
    Task::from_object(serde_json::from_str(json).unwrap()).unwrap()
}

fn ran(verdict: Verdict, passed: u32) -> Judgement {
    let held = Held { cpu_ms: 1.0, isolation: Isolation::Full };
    Judgement::of_run(verdict, Counts { passed, total: 2 }, held).unwrap()
}

/// The judge, and an episode in front of it.
fn open(says: Result<Judgement, Infrastructure>, task_json: &str) -> (Arc<Fake>, Box<dyn Episode>) {
    let judge = Arc::new(Fake { says, seen: Mutex::new(Vec::new()) });
    let environment = PythonEnvironment {
        judge: judge.clone(),
        rules: Rules::new(RewardConfig::default()),
        prompt: PromptTemplate::of(&PromptConfig::default()).unwrap(),
        limits: Limits::default(),
        about: None,
    };
    assert_eq!(environment.max_turns(&task(task_json)), 1);
    let episode = environment.open(&task(task_json), Seed::new(0)).unwrap();
    (judge, episode)
}

fn verdict_of(outcome: &Outcome) -> &Verdict {
    outcome.judgement().unwrap().verdict()
}

fn done(next: Next) -> Outcome {
    match next {
        Next::Done(outcome) => outcome,
        Next::Ask => panic!("one reply ends the episode"),
    }
}

#[test]
fn the_first_messages_are_the_prompt_without_hidden_tests() {
    let (_, episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    let roles: Vec<_> = episode.messages().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User]);
    let user = &episode.messages()[1].content;
    assert!(user.contains("Add two numbers.") && user.contains("add(1, 2)"), "{user}");
    assert!(!user.contains("42") && !user.contains("add(0, 0)"), "{user}");
}

#[test]
fn a_program_that_passes_is_paid_for_its_tests() {
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    let outcome = done(episode.reply(Reply::text(GOOD)).unwrap());
    assert!(outcome.is_solved());
    assert!((outcome.reward.total() - 1.0).abs() < 1e-12, "{:?}", outcome.reward);
    assert!(outcome.reward.terms()["quality"].value > 0.5, "{:?}", outcome.reward);
    assert_eq!(*judge.seen.lock().unwrap(), ["def add(a, b):\n    return a + b"]);
    assert_eq!(episode.messages().last().unwrap().content, GOOD);
    assert!(matches!(episode.reply(Reply::text(GOOD)), Err(EnvError::Over)));
}

#[test]
fn a_wrong_program_is_paid_nothing_for_the_tests_that_pass() {
    let (_, mut episode) = open(Ok(ran(Verdict::Wrong { test: 1 }, 1)), TASK);
    let outcome = done(episode.reply(Reply::text(GOOD)).unwrap());
    assert_eq!(outcome.reward.terms()["tests"].value.to_bits(), 0.0_f64.to_bits());
    assert!((outcome.reward.terms()["syntax"].value - 1.0).abs() < 1e-12);
}

#[test]
fn when_the_machine_breaks_there_is_no_reward_and_the_episode_stays_open() {
    let broken = Infrastructure("the zygote died twice".to_owned());
    let (_, mut episode) = open(Err(broken), TASK);
    let error = episode.reply(Reply::text(GOOD)).unwrap_err();
    assert!(matches!(error, EnvError::Judge(_)), "{error}");
    assert_eq!(episode.messages().len(), 2);
}

#[test]
fn a_malformed_reply_earns_its_verdict_and_never_reaches_the_judge() {
    for (reply, verdict) in [
        ("I do not know.", Verdict::NoCode),
        ("", Verdict::NoCode),
        ("```python\ndef add(a, b:\n```", Verdict::SyntaxError),
        ("```python\nreturn 1\n```", Verdict::SyntaxError),
    ] {
        let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
        let outcome = done(episode.reply(Reply::text(reply)).unwrap());
        assert_eq!(*verdict_of(&outcome), verdict, "{reply}");
        assert!(outcome.reward.total().abs() < f64::EPSILON);
        assert!(judge.seen.lock().unwrap().is_empty());
    }
}

/// The prompt ended in `<think>`, and the reply was cut off inside it: its draft is no answer.
#[test]
fn a_draft_inside_thinking_that_the_prompt_opened_is_not_judged() {
    let draft = "First idea:\n```python\ndef add(a, b):\n    return a + b\n```\nBut wait";
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    let outcome = done(episode.reply(Reply::text(draft).after(true)).unwrap());
    assert_eq!(*verdict_of(&outcome), Verdict::NoCode);
    assert!(judge.seen.lock().unwrap().is_empty());
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    let answered = format!("{draft}\n</think>\n\n{GOOD}");
    let outcome = done(episode.reply(Reply::text(&answered).after(true)).unwrap());
    assert!(outcome.is_solved());
    assert_eq!(judge.seen.lock().unwrap().len(), 1);
}

#[test]
fn an_episode_that_is_cut_short_had_no_code_and_is_over() {
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    let outcome = episode.cut_short().unwrap();
    assert_eq!(*verdict_of(&outcome), Verdict::NoCode);
    assert!(outcome.reward.total().abs() < f64::EPSILON);
    assert!(matches!(episode.reply(Reply::text(GOOD)), Err(EnvError::Over)));
    assert!(matches!(episode.cut_short(), Err(EnvError::Over)));
    assert!(judge.seen.lock().unwrap().is_empty());
}

#[test]
fn a_truncated_program_is_judged_like_any_other() {
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), TASK);
    done(episode.reply(Reply::text("```python\ndef add(a, b):\n    return a + b\n")).unwrap());
    assert_eq!(judge.seen.lock().unwrap().len(), 1);
}

#[test]
fn javascript_that_does_not_parse_is_a_syntax_error_and_never_reaches_the_judge() {
    let task = TASK.replace(r#""v":1,"#, r#""v":1,"language":"javascript","#);
    for program in ["I do not know the answer, sorry.", "const add = (a, b => a + b;", "x = {"] {
        let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), &task);
        let reply = format!("```javascript\n{program}\n```");
        let outcome = done(episode.reply(Reply::text(&reply)).unwrap());
        assert_eq!(*verdict_of(&outcome), Verdict::SyntaxError, "{program}");
        assert!(!outcome.reward.gates()["syntax"].passed);
        assert!(outcome.reward.total().abs() < f64::EPSILON);
        assert!(judge.seen.lock().unwrap().is_empty());
    }
}

#[test]
fn javascript_is_run_but_not_read_as_python() {
    let task = TASK.replace(r#""v":1,"#, r#""v":1,"language":"javascript","#);
    let (judge, mut episode) = open(Ok(ran(Verdict::Pass, 2)), &task);
    let reply = "[PLAN]\nAdd.\n[/PLAN]\n\n```javascript\nconst add = (a, b) => a + b;\n```";
    let outcome = done(episode.reply(Reply::text(reply)).unwrap());
    assert_eq!(*judge.seen.lock().unwrap(), ["const add = (a, b) => a + b;"]);
    assert!(!outcome.reward.terms().contains_key("quality"), "nobody measures it");
    assert!((outcome.reward.terms()["tests"].value - 1.0).abs() < 1e-12);
}
