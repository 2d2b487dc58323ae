//! A judge that runs nothing, files to score, and a second process to be killed.
//!
//! The stand-in reads its verdict off a word in the program's source, so that a test says what it
//! wants judged. The time it claims is different at every call: nothing of it may be seen in the
//! scored lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::{env, fs};

use whetstone_algo::advantage::GroupRule;
use whetstone_core::config::{AdvantageBy, Config, PromptConfig, RewardConfig};
use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::prompt::PromptTemplate;
use whetstone_core::task::Task;
use whetstone_core::verdict::Verdict;
use whetstone_env::environment::BuildError;
use whetstone_env::environment::{Setup, StartError};
use whetstone_env::python::{PythonEnvironment, Rules};
use whetstone_env::registry::Environments;
use whetstone_rollout::EnvironmentSource;
use whetstone_rollout::cache::Cache;
use whetstone_rollout::score::{BadLines, Earlier, ScoreError, ScoreSummary, Scoring, score};
use whetstone_sandbox::Judge;
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};

/// Threads of a scoring: as many lines can be in the judge's hands at once.
pub(crate) const WORKERS: usize = 4;

/// A judge that runs nothing. Its clones count together.
#[derive(Default, Clone)]
pub(crate) struct Fake {
    calls: Arc<AtomicU32>,
    sources: Arc<Mutex<Vec<String>>>,
    /// Called before each verdict with the number of the call.
    pub(crate) before: Option<Arc<dyn Fn(u32) + Send + Sync>>,
}

/// A judge that an environment can hold.
pub(crate) trait Shared: Judging {
    fn shared(&self) -> Arc<dyn Judging>;
}

impl<J: Judging + Clone + 'static> Shared for J {
    fn shared(&self) -> Arc<dyn Judging> {
        Arc::new(self.clone())
    }
}

/// The environments of `tasks`, in which this judge runs programs; without one nothing is run.
pub(crate) fn environments(
    config: &Config,
    programs: Option<PythonEnvironment>,
    tasks: &[Task],
) -> Result<Environments, BuildError> {
    let setup = Setup::new(config, &no_judge);
    let all = Environments::none(config);
    if let Some(programs) = programs {
        return all.with_programs(programs).and_for_tasks(&setup, tasks);
    }
    all.and_for_tasks(&setup, tasks.iter().filter(|task| !task.is_program(&config.env.kind)))
}

/// The environment of programs with a stand-in for the judge.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
pub(crate) fn programs(judge: Arc<dyn Judging>, rules: Rules, limits: Limits) -> PythonEnvironment {
    let prompt = PromptTemplate::of(&PromptConfig::default()).unwrap();
    PythonEnvironment { judge, rules, prompt, limits, about: None }
}

impl Fake {
    /// How many programs it was asked about.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// How often it was asked about a program with this word.
    pub(crate) fn asked(&self, word: &str) -> usize {
        self.sources
            .lock()
            .expect("no test panics there")
            .iter()
            .filter(|source| source.contains(word))
            .count()
    }
}

impl Judging for Fake {
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if let Some(before) = &self.before {
            before(call);
        }
        let source = &job.program.source;
        self.sources.lock().expect("no test panics there").push(source.clone());
        let total = u32::try_from(job.tests.hidden_count()).expect("few");
        let (verdict, passed) = if source.contains("PASS") {
            (Verdict::Pass, total)
        } else if source.contains("BROKEN") {
            return Err(Infrastructure("no zygote".to_owned()).into());
        } else if source.contains("SLOW") {
            (Verdict::Timeout, u32::from(source.contains("HALF")))
        } else if source.contains("SLEEPS") {
            (Verdict::Timeout, 0)
        } else if source.contains("RAISES") {
            (Verdict::Raised { test: 0, kind: "KeyError".to_owned() }, 0)
        } else {
            (Verdict::Wrong { test: 1 }, 1)
        };
        let spent =
            if source.contains("SLOW") { job.limits.cpu.as_secs_f64() * 1000.0 } else { 0.0 };
        let cpu_ms = spent + 0.25 + f64::from(call % 1000) / 7.0;
        let held = Held { cpu_ms, isolation: Isolation::Full };
        Ok(Judgement::of_run(verdict, Counts { passed, total }, held).expect("it fits"))
    }
}

/// A folder with rollouts and tasks.
pub(crate) struct Bench {
    pub(crate) folder: PathBuf,
    pub(crate) rules: Rules,
    pub(crate) limits: Limits,
}

/// What differs from one scoring to the next.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    pub(crate) judge: Option<&'a dyn Shared>,
    pub(crate) cache: Option<&'a Cache>,
    pub(crate) bad_lines: BadLines,
    pub(crate) earlier: Earlier,
    pub(crate) on_line: Option<&'a (dyn Fn() + Sync)>,
}

impl Bench {
    /// A folder with tasks `a`, `b` and `c` of three tests each, and these rollouts.
    pub(crate) fn new(folder: &Path, rollouts: &str) -> Self {
        let bench = Self::at(folder);
        let task = |id: &str| {
            let tests =
                r#"{"kind":"asserts","hidden":["assert f(1)","assert f(2)","assert f(3)"]}"#;
            format!("{{\"id\":\"{id}\",\"statement\":\"s\",\"tests\":{tests}}}\n")
        };
        fs::write(bench.path("tasks.jsonl"), ["a", "b", "c"].map(task).concat()).expect("a file");
        fs::write(bench.path("rollouts.jsonl"), rollouts).expect("a file");
        bench
    }

    /// A folder that has both already.
    pub(crate) fn at(folder: &Path) -> Self {
        let rules = Rules::new(RewardConfig::default());
        Self { folder: folder.to_owned(), rules, limits: Limits::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    /// Scores into `output`.
    pub(crate) fn score(
        &self,
        output: &str,
        asked: &Asked<'_>,
    ) -> Result<ScoreSummary, ScoreError> {
        let config = Config { reward: self.rules.reward.clone(), ..Config::default() };
        let build = |tasks: &[Task]| {
            let judge = asked.judge.map(Shared::shared);
            let held = judge.map(|judge| programs(judge, self.rules.clone(), self.limits));
            environments(&config, held, tasks)
        };
        score(&Scoring {
            rollouts: &self.path("rollouts.jsonl"),
            tasks: &self.path("tasks.jsonl"),
            output: &self.path(output),
            config: &config,
            environments: EnvironmentSource::Build(&build),
            cache: asked.cache,
            advantage: GroupRule { how: AdvantageBy::StandardScore, floor: 0.01 },
            workers: WORKERS,
            bad_lines: asked.bad_lines,
            earlier: asked.earlier,
            on_start: &|_| {},
            on_line: asked.on_line.unwrap_or(&|| {}),
        })
    }
}

fn no_judge() -> Result<Judge, StartError> {
    Err(StartError::Refused("an environment without programs asks for no judge".to_owned()))
}

/// A line of rollouts whose program has this word in it.
pub(crate) fn rollout(step: u32, prompt: &str, word: &str) -> String {
    let text = format!("Let me see.\n```python\ndef f(x):\n    return x  # {word}\n```\n");
    let line = serde_json::json!({"step": step, "prompt_id": prompt, "text": text});
    format!("{line}\n")
}

const PATH: &str = "WHET_TEST_PATH";

/// The folder that the parent gave to this process.
pub(crate) fn given_path() -> PathBuf {
    PathBuf::from(env::var_os(PATH).expect("the parent names a path"))
}

/// Starts the test `name` of this binary on `path`, after the shell commands `before`.
///
/// The shell becomes the test binary, so the child's number and its death are its own.
pub(crate) fn child(before: &str, name: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("a running test has a path"));
    command.args(["--ignored", "--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(PATH, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}
