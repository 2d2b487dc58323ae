//! From a reply to what is known of it: the static check and the run, or an outside validator.
//!
//! Results of the check and of runs are kept apart, each under everything that it follows from, so that what was read
//! without running anything helps when programs are run later. The plan and the block of a reply are looked at anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use whetstone_core::extract::{Form, Reply, extract};
use whetstone_phaser::check::{Findings, MAX_SOURCE_BYTES, ParseMode, VALIDATOR_VERSION, check};
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{FailureClass, Installation, Run, SourceKind, shim_digest};
use whetstone_sandbox::{JUDGE_VERSION, Judge};

use super::checks::{CheckResult, GameTask};
use super::options::IndexSource;
use super::reward::REWARD_VERSION;
use super::validation::{FormatFindings, RuntimeFindings, Validation};
use super::validator::{CallContext, Question, Validator};
use super::{Observation, Program, observe, plan};
use crate::environment::EnvError;
use crate::results::{Found, ResultCache, ResultKey, cached};
use crate::stack::on_big_stack;

/// The seed of every program's randomness: the same program has the same outcome wherever it is judged.
const SEED: u64 = 0;

/// Version of how runs are looked at and checks evaluated, for keys of caches.
const RUN_VERSION: u32 = 1;

/// Programs longer than the check reads have the same short findings every time.
const LONGEST_KEPT_BYTES: usize = MAX_SOURCE_BYTES;

/// Who runs programs, and with which Phaser.
pub(super) struct Engine {
    pub(super) judge: Judge,
    pub(super) installed: Installation,
}

/// Looks at replies.
pub(super) struct Inspector {
    /// Nobody where programs are only read.
    pub(super) engine: Option<Engine>,
    pub(super) index: IndexSource,
    pub(super) index_digest: String,
    pub(super) validator: Option<Arc<Validator>>,
    /// Calls of the validator at the same time.
    pub(super) workers: usize,
    pub(super) results: Option<Arc<dyn ResultCache>>,
    pub(super) skip_runtime: bool,
    pub(super) limits: Limits,
}

impl Inspector {
    /// Everything that is known of a reply to a task.
    pub(super) fn inspect(
        &self,
        id: &str,
        task: &GameTask,
        reply: Reply<'_>,
    ) -> Result<Validation, EnvError> {
        let extraction = extract(reply, Form::PlanJavascript);
        let source = extraction.code.as_ref().map_or("", |code| code.source.as_ref());
        let plan = extraction.plan.as_deref();
        let format = FormatFindings::of(&extraction, plan.map(|plan| plan::worth(plan, source)));
        if !format.code {
            return Ok(Validation::of(format, Findings::default()));
        }
        // A program that is too long is refused before anybody is asked.
        if let Some(validator) = &self.validator
            && source.len() <= LONGEST_KEPT_BYTES
        {
            let question = Question {
                prompt_id: id,
                text: reply.text,
                plan,
                code: source,
                skip_runtime: self.skip_runtime || task.checks().is_empty(),
                frames: task.frames(),
                input: Some(task.input()),
                checks: task.checks(),
                ..Question::default()
            };
            let context = CallContext { workers: self.workers, results: self.results.as_deref() };
            return Ok(validator.validate(question, format, context)?);
        }
        let mut validation = Validation::of(format, self.findings(source)?);
        if let Some(engine) = self.engine.as_ref().filter(|_| is_worth_a_run(&validation, task)) {
            let kind = source_kind(source, validation.parse.mode);
            let program = Program { source, kind, seed: SEED, limits: self.limits };
            let (run, checks) = self.run(engine, program, task)?;
            (validation.runtime, validation.task) = (Some(run), checks);
        }
        Ok(validation)
    }

    /// What a scoring depends on, by the name of what changes it.
    pub(super) fn identity(&self) -> BTreeMap<String, String> {
        let engine = self.engine.as_ref().map(|engine| self.engine_facts(engine).join(" "));
        let facts = [
            ("phaser: rewards", REWARD_VERSION.to_string()),
            ("phaser: --skip-runtime", self.skip_runtime.to_string()),
            ("phaser: --api-index", format!("{VALIDATOR_VERSION} {}", self.index_digest)),
            (
                "phaser: --validator-cli",
                self.validator.as_ref().map_or_else(String::new, |found| found.digest()),
            ),
            ("phaser: engine and limits", engine.unwrap_or_default()),
        ];
        facts.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// What the check says of a program.
    fn findings(&self, source: &str) -> Result<Findings, EnvError> {
        let results = self.results.as_deref().filter(|_| source.len() <= LONGEST_KEPT_BYTES);
        let key = || {
            let version = VALIDATOR_VERSION.to_le_bytes();
            ResultKey::of("static", &[&version, self.index_digest.as_bytes(), source.as_bytes()])
        };
        cached(results, key, || {
            let found = on_big_stack(|stack| check(source, &self.index, stack))?;
            Ok(Found::Steady(found))
        })
    }

    /// What comes of running a program.
    fn run(
        &self,
        engine: &Engine,
        program: Program<'_>,
        task: &GameTask,
    ) -> Result<(RuntimeFindings, Vec<CheckResult>), EnvError> {
        let key = || {
            let asked = serde_json::to_vec(&(task, program.kind, program.seed))
                .expect("a task is plain data");
            let facts = self.engine_facts(engine);
            let facts = facts.iter().map(String::as_bytes);
            let own: [&[u8]; 2] = [&asked, program.source.as_bytes()];
            ResultKey::of("runtime", &facts.chain(own).collect::<Vec<_>>())
        };
        cached(self.results.as_deref(), key, || {
            let seen = observe(&engine.judge, program, task)?;
            let is_steady = is_steady(&seen, program.limits);
            let result = (RuntimeFindings::from(seen.run), seen.checks);
            Ok(if is_steady { Found::Steady(result) } else { Found::Varying(result) })
        })
    }

    /// What a run follows from beside program and task.
    fn engine_facts(&self, engine: &Engine) -> [String; 6] {
        let Limits { cpu, memory } = self.limits;
        [
            format!("{RUN_VERSION} {JUDGE_VERSION}"),
            engine.installed.version().number().to_owned(),
            engine.installed.sha256().to_owned(),
            shim_digest(),
            cpu.as_nanos().to_string(),
            memory.to_string(),
        ]
    }
}

/// Whether a run tells anything: without checks it would tell that a game starts, not that it is the one that was asked
/// for, and a game that does nothing would be paid half.
fn is_worth_a_run(validation: &Validation, task: &GameTask) -> bool {
    validation.parse.ok && !task.checks().is_empty()
}

/// Whether the runs of a program would come out the same again: memory and the depth of calls depend on the build of the
/// engine and on the machine, time on how busy it was unless it was CPU time that was used up.
fn is_steady(seen: &Observation, limits: Limits) -> bool {
    let is_steady = |run: &Run| match run.class {
        None | Some(FailureClass::Fault | FailureClass::EnvLimit | FailureClass::Tampering) => true,
        Some(FailureClass::Timeout) => run.used_up_cpu(limits),
        Some(FailureClass::Memory | FailureClass::Stack) => false,
    };
    is_steady(&seen.run) && seen.control.as_ref().is_none_or(is_steady)
}

/// A program with imports or exports is run as a module, any other as a page would run it: as a script.
fn source_kind(source: &str, mode: ParseMode) -> SourceKind {
    let is_statement = |line: &str| {
        ["import ", "import{", "export "].iter().any(|start| line.trim_start().starts_with(start))
    };
    if mode == ParseMode::Module && source.lines().any(is_statement) {
        SourceKind::Module
    } else {
        SourceKind::Script
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use whetstone_phaser::index::Index;
    use whetstone_sandbox::phaser::{Stage, Trace};

    use super::*;
    use crate::results::tests::MemoryCache;

    const GAME: &str = "class Main extends Phaser.Scene { create() { this.add.text(1, 2, 'a'); } }\n\
                        new Phaser.Game({ scene: Main });";

    fn reader(index: IndexSource, results: Arc<MemoryCache>) -> Inspector {
        Inspector {
            engine: None,
            index_digest: index.digest(),
            index,
            validator: None,
            workers: 1,
            results: Some(results),
            skip_runtime: true,
            limits: Limits::default(),
        }
    }

    fn embedded(version: &str) -> IndexSource {
        IndexSource::Embedded(Index::embedded(version).expect("it is embedded"))
    }

    fn inspect(inspector: &Inspector, plan: &str, source: &str) -> Validation {
        let task = r#"{"checks":[{"kind":"count","select":{},"at_least":1}]}"#;
        let task: GameTask = serde_json::from_str(task).expect("a task");
        let text = format!("[PLAN]\n{plan}\n[/PLAN]\n```javascript\n{source}\n```\n");
        inspector.inspect("a", &task, Reply::text(&text)).expect("it is read")
    }

    fn ended(class: Option<FailureClass>) -> Run {
        Run {
            stage: Stage::Frames,
            ok: class.is_none(),
            class,
            error: None,
            line: None,
            frames: 3,
            scenes: Vec::new(),
            objects: Vec::new(),
            assets: Vec::new(),
            log: Vec::new(),
            trace: Trace::default(),
            cpu_ms: 10.0,
            memory: 0,
        }
    }

    #[test]
    fn a_program_is_checked_once_for_each_index_whatever_its_plan() {
        let cache = Arc::new(MemoryCache::default());
        let three = reader(embedded("3"), cache.clone());
        let first = inspect(&three, "Add a scene.", GAME);
        let again = inspect(&three, "Nothing.", GAME);
        assert_eq!((&first.api, first.parse.ok), (&again.api, true));
        assert_ne!(first.format.plan, again.format.plan, "the plan is looked at anew");
        inspect(&reader(embedded("4"), cache.clone()), "", GAME);
        inspect(&three, "", &GAME.replace("'a'", "'b'"));
        let hits: Vec<bool> = cache.lookups().into_iter().map(|(_, is_hit)| is_hit).collect();
        assert_eq!(hits, [false, true, false, false]);
    }

    #[test]
    fn a_program_that_is_too_long_does_not_parse_and_is_not_kept() {
        let cache = Arc::new(MemoryCache::default());
        let long = format!("// {}\n{GAME}", "x".repeat(LONGEST_KEPT_BYTES));
        let seen = inspect(&reader(embedded("3"), cache.clone()), "", &long);
        assert!(!seen.parse.ok && seen.format.code, "{:?}", seen.parse);
        assert!(cache.lookups().is_empty());
    }

    #[test]
    fn a_program_is_run_if_it_parses_and_there_are_checks() {
        let cache = Arc::new(MemoryCache::default());
        let task = |json: &str| serde_json::from_str::<GameTask>(json).expect("a task");
        let (checked, unchecked) =
            (task(r#"{"checks":[{"kind":"count"}]}"#), task(r#"{"checks":[]}"#));
        let parsed = inspect(&reader(embedded("3"), cache.clone()), "", GAME);
        assert!(is_worth_a_run(&parsed, &checked) && !is_worth_a_run(&parsed, &unchecked));
        let broken = inspect(&reader(embedded("3"), cache), "", "class {");
        assert!(!is_worth_a_run(&broken, &checked));
    }

    #[test]
    fn what_depends_on_the_machine_is_not_steady() {
        let limits = Limits { cpu: Duration::from_secs(2), ..Limits::default() };
        let run = |class, cpu_ms| Run { cpu_ms, ..ended(class) };
        let table = [
            (None, 10.0, true),
            (Some(FailureClass::Fault), 10.0, true),
            (Some(FailureClass::EnvLimit), 10.0, true),
            (Some(FailureClass::Tampering), 10.0, true),
            (Some(FailureClass::Timeout), 1801.0, true),
            (Some(FailureClass::Timeout), 1799.0, false),
            (Some(FailureClass::Memory), 10.0, false),
            (Some(FailureClass::Stack), 10.0, false),
        ];
        for (class, cpu_ms, expected) in table {
            let clean = run(None, 10.0);
            let alone = Observation { run: run(class, cpu_ms), control: None, checks: Vec::new() };
            let control =
                Observation { control: Some(alone.run.clone()), run: clean, ..alone.clone() };
            assert_eq!(is_steady(&alone, limits), expected, "{class:?} {cpu_ms}");
            assert_eq!(is_steady(&control, limits), expected, "{class:?} of the control run");
        }
    }

    #[test]
    fn of_a_run_that_is_out_of_time_nothing_is_kept_that_time_decides() {
        let run = |frames, class| Run { frames, line: Some(frames), ..ended(class) };
        let of = |frames, class| RuntimeFindings::from(run(frames, class));
        assert_eq!(of(3, Some(FailureClass::Timeout)), of(40, Some(FailureClass::Timeout)));
        assert_ne!(of(3, Some(FailureClass::Fault)), of(40, Some(FailureClass::Fault)));
    }

    #[test]
    fn imports_make_a_module_and_a_word_in_a_text_does_not() {
        let kind = |source: &str| {
            let findings = on_big_stack(|stack| check(source, &embedded("3"), stack));
            source_kind(source, findings.expect("a thread").parse.mode)
        };
        assert_eq!(kind("import Phaser from 'phaser';\nnew Phaser.Game({});"), SourceKind::Module);
        assert_eq!(kind("const text = 'export it';\nplayer = 1;"), SourceKind::Script);
    }
}
