//! The two tasks, what a case is, and how a list of cases is held against a judge.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use whetstone_core::judgement::Isolation;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::{Job, Limits};
use whetstone_sandbox::{Judge, Options, StartError, Ticket};

use crate::leftovers::Machine;
use crate::world::World;

/// One program, and what may be found of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// A sentence.
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) task: Task,
    pub(crate) pace: Pace,
    /// Verdicts, each a name (`raised`) or a name with its kind (`raised SystemExit`).
    pub(crate) may: &'static [&'static str],
}

/// What is to be solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// `gap(a, b)`: how far apart two numbers are.
    Gap,
    /// Two numbers in; their gap and their product out, on two lines.
    GapAndProduct,
    /// The task of the collection beside the repository: `add(a, b)`.
    Add,
    /// Two numbers in, their sum out.
    Sum,
}

/// How a program uses its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Ends by itself, soon.
    Quick,
    /// Computes until it is stopped.
    Burns,
    /// Waits until it is stopped: by the clock on the wall, three times the CPU limit and 2 s.
    Sleeps,
    /// May use what an honest program needs.
    Ample,
}

/// How the tests of a call are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Calls,
    Asserts,
    Script,
}

/// A case of `gap`.
pub(crate) const fn call(
    name: &'static str,
    may: &'static [&'static str],
    source: &'static str,
) -> Case {
    Case { name, source, task: Task::Gap, pace: Pace::Quick, may }
}

/// A case of the two lines.
pub(crate) const fn stdio(
    name: &'static str,
    may: &'static [&'static str],
    source: &'static str,
) -> Case {
    Case { name, source, task: Task::GapAndProduct, pace: Pace::Quick, may }
}

impl Case {
    pub(crate) const fn burns(self) -> Self {
        Self { pace: Pace::Burns, ..self }
    }

    pub(crate) const fn sleeps(self) -> Self {
        Self { pace: Pace::Sleeps, ..self }
    }

    pub(crate) const fn ample(self) -> Self {
        Self { pace: Pace::Ample, ..self }
    }

    /// Neither burns nor sleeps: time runs out in the same way everywhere.
    pub(crate) fn is_short(&self) -> bool {
        matches!(self.pace, Pace::Quick | Pace::Ample)
    }

    fn limits(&self) -> Limits {
        let may_run_out = self.may.contains(&"timeout");
        let (cpu, memory) = match self.pace {
            Pace::Quick if may_run_out => (800, 128 << 20),
            // A machine that is ten times slower today must not change a verdict.
            Pace::Quick => (8000, 128 << 20),
            Pace::Burns => (120, 128 << 20),
            Pace::Sleeps => (60, 128 << 20),
            Pace::Ample => (8000, 512 << 20),
        };
        Limits { cpu: Duration::from_millis(cpu), memory }
    }

    fn allows(&self, verdict: &Verdict) -> bool {
        let told = tell(verdict);
        self.may.iter().any(|one| *one == told || *one == verdict.name())
    }
}

/// A verdict in words: its name, with its kind where it has one.
pub(crate) fn tell(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Raised { kind, .. } | Verdict::LoadError { kind } => {
            format!("{} {kind}", verdict.name())
        }
        Verdict::Crashed { signal } => format!("crashed {signal}"),
        _ => verdict.name().to_owned(),
    }
}

impl Task {
    pub(crate) fn tests(self, form: Form) -> Tests {
        let text = match (self, form) {
            (Self::Gap, Form::Calls) => r#"{"kind":"calls","entry_point":"gap","hidden":[
                {"args":[3,10],"expected":7},{"args":[-4,4],"expected":8},
                {"args":[6,6],"expected":0}]}"#
                .to_owned(),
            (Self::Gap, Form::Asserts) => r#"{"kind":"asserts","hidden":[
                "assert gap(3, 10) == 7","assert gap(-4, 4) == 8","assert gap(6, 6) == 0"]}"#
                .to_owned(),
            (Self::Gap, Form::Script) => r#"{"kind":"script","entry_point":"gap","hidden":[
                "def check(candidate):\n    assert candidate(3, 10) == 7\n    assert abs(candidate(-4, 4) - 8) < 1e-6\n    assert candidate(6, 6) == 0\n"]}"#
                .to_owned(),
            (Self::GapAndProduct, _) => r#"{"kind":"stdio","hidden":[
                {"input":"3 10\n","output":"7\n30\n"},{"input":"-4 4\n","output":"8\n-16\n"}]}"#
                .to_owned(),
            (Self::Add, Form::Asserts) => r#"{"kind":"asserts","hidden":[
                "assert add(2, 3) == 5","assert add(-1, 1) == 0","assert add(10, 20) == 30"]}"#
                .to_owned(),
            (Self::Add, _) => r#"{"kind":"calls","entry_point":"add","hidden":[
                {"args":[2,3],"expected":5},{"args":[-1,1],"expected":0},
                {"args":[10,20],"expected":30}]}"#
                .to_owned(),
            (Self::Sum, _) => r#"{"kind":"stdio","hidden":[{"input":"2 3\n","output":"5\n"},
                {"input":"-1 1\n","output":"0\n"},{"input":"10 20\n","output":"30\n"}]}"#
                .to_owned(),
        };
        serde_json::from_str(&text).unwrap()
    }
}

/// Programs are judged this many at a time.
const WORKERS: u32 = 3;
/// As many where some sleep: they must not keep the others waiting.
const WORKERS_FOR_SLEEPERS: u32 = 12;

/// One judge at a time in this process, so that what is left behind is known to be its.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits for other tests of this process to end.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A judge at one level, with the machine as it was before.
pub(crate) struct Stage {
    pub(crate) judge: Judge,
    pub(crate) level: Isolation,
    world: World,
    before: Machine,
    scratch: tempfile::TempDir,
}

impl Stage {
    /// `None`, and a word about it, if this machine does not give that level.
    pub(crate) fn start(level: Isolation) -> Option<Self> {
        Self::start_for(level, &[])
    }

    /// The same, with as many workers as the cases want.
    pub(crate) fn start_for(level: Isolation, cases: &[Case]) -> Option<Self> {
        let sleepers = cases.iter().filter(|case| case.pace == Pace::Sleeps).count();
        Self::start_with(level, if sleepers > 3 { WORKERS_FOR_SLEEPERS } else { WORKERS })
    }

    /// The same, with this many workers.
    pub(crate) fn start_with(level: Isolation, workers: u32) -> Option<Self> {
        Self::start_in(level, workers, &std::env::temp_dir())
    }

    /// The same, with programs' folders in this one where they are outside.
    pub(crate) fn start_in(level: Isolation, workers: u32, folder: &Path) -> Option<Self> {
        Self::start_as(level, options(workers), folder)
    }

    /// At `landlock`, with no later version of it than this.
    pub(crate) fn start_older(version: u32) -> Option<Self> {
        let mut options = options(WORKERS);
        options.landlock = version;
        Self::start_as(Isolation::Landlock, options, &std::env::temp_dir())
    }

    fn start_as(level: Isolation, mut options: Options, folder: &Path) -> Option<Self> {
        let world = World::new();
        let scratch = tempfile::tempdir_in(folder).unwrap();
        let before = Machine::look();
        options.minimum = level;
        options.ceiling = level;
        scratch.path().clone_into(&mut options.scratch);
        match Judge::start(&options) {
            Ok(judge) => Some(Self { judge, level, world, before, scratch }),
            Err(StartError::Refused(problem)) => {
                println!("SKIPPED: {level:?}: {problem}");
                None
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    /// Judges all cases, once in each form; says which verdicts are not allowed, a line each.
    pub(crate) fn faults(&self, cases: &[Case], forms: &[Form]) -> String {
        let each = |form: &Form| cases.iter().map(|case| (case, *form)).collect::<Vec<_>>();
        let mut order: Vec<(&Case, Form)> = forms.iter().flat_map(each).collect();
        // Those that take long begin first.
        order.sort_by_key(|(case, _)| case.pace != Pace::Sleeps);
        let submit = |(case, form)| (case, form, self.submit(case, form));
        let tickets: Vec<(&Case, Form, Ticket)> = order.into_iter().map(submit).collect();
        let mut faults = String::new();
        for (case, form, ticket) in tickets {
            let (may, level) = (case.may, self.level);
            match ticket.wait() {
                Ok(judgement) if case.allows(judgement.verdict()) => {
                    assert_eq!(judgement.isolation(), Some(level), "{}", case.name);
                }
                Ok(judgement) => {
                    let (told, cost) = (tell(judgement.verdict()), judgement.cpu_ms());
                    let name = case.name;
                    writeln!(faults, "{name}, as {form:?}: `{told}` ({cost:.0} ms), not {may:?}")
                        .unwrap();
                }
                Err(problem) => writeln!(faults, "{}, as {form:?}: {problem}", case.name).unwrap(),
            }
        }
        faults
    }

    /// Judges all cases, once in each form, and fails with every verdict that is not allowed.
    pub(crate) fn hold(&self, cases: &[Case], forms: &[Form]) {
        let faults = self.faults(cases, forms);
        assert!(faults.is_empty(), "at {:?}:\n{faults}", self.level);
        self.world.is_untouched();
    }

    fn submit(&self, case: &Case, form: Form) -> Ticket {
        let source = self.world.fill_in(case.source);
        self.submit_tests(&source, &case.task.tests(form), case.limits())
    }

    /// Sends one program with tests of its own.
    pub(crate) fn submit_tests(&self, source: &str, tests: &Tests, limits: Limits) -> Ticket {
        let program =
            Program { language: Language::Python, source: source.to_owned(), truncated: false };
        self.judge.submit(Job { program: &program, setup: "", tests, limits })
    }

    /// Ends the judge and looks at the machine.
    pub(crate) fn end(self) {
        let supervisor = self.judge.supervisor();
        drop(self.judge);
        self.before.is_as_before(supervisor);
        let left: Vec<_> = std::fs::read_dir(self.scratch.path()).unwrap().collect();
        assert!(left.is_empty(), "left in the scratch folder: {left:?}");
        self.world.is_untouched();
    }
}

/// Holds cases at one level, twice in a row: the tests once as calls, once as asserts.
pub(crate) fn hold(level: Isolation, cases: &[Case]) {
    let _alone = alone();
    hold_in(level, cases, &[Form::Calls, Form::Asserts]);
}

/// Holds cases at one level, once for each form; the caller sees to it that nothing else runs.
pub(crate) fn hold_in(level: Isolation, cases: &[Case], forms: &[Form]) {
    let Some(stage) = Stage::start_for(level, cases) else { return };
    stage.hold(cases, forms);
    println!("held at {level:?}: {} programs, {} times", cases.len(), forms.len());
    stage.end();
}

/// The interpreter itself: asking a version manager's script for it takes long.
static PYTHON: LazyLock<String> = LazyLock::new(|| {
    let command = std::env::var("WHETSTONE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let ask = ["-I", "-S", "-c", "import os, sys; print(os.path.realpath(sys.executable))"];
    let said = Command::new(command).args(ask).output().unwrap().stdout;
    String::from_utf8(said).unwrap().trim().to_owned()
});

/// The interpreter that judges here.
pub(crate) fn python() -> &'static str {
    &PYTHON
}

/// How to judge here.
pub(crate) fn options(workers: u32) -> Options {
    let mut options = Options::new(vec![
        "env".to_owned(),
        World::secret_variable(),
        judge_binary().to_string_lossy().into_owned(),
    ]);
    options.python.clone_from(&PYTHON);
    options.workers = workers;
    options
}

/// The binary whose processes judge; a copy, where another user runs the tests.
pub(crate) fn judge_binary() -> PathBuf {
    std::env::var_os("WHETSTONE_TEST_JUDGE")
        .map_or_else(|| env!("CARGO_BIN_EXE_whet-judge").into(), PathBuf::from)
}

/// Every family of programs that are judged one by one.
pub(crate) const FAMILIES: [(&str, &[Case]); 13] = [
    ("leaving", crate::leaving::CASES),
    ("deception", crate::deception::CASES),
    ("tampering", crate::tampering::CASES),
    ("time", crate::time::CASES),
    ("memory", crate::memory::CASES),
    ("escape", crate::escape::CASES),
    ("beyond", crate::beyond::CASES),
    ("signals", crate::signals::CASES),
    ("stdio", crate::stdio::CASES),
    ("honest", crate::honest::CASES),
    ("users", crate::users::CASES),
    ("costs", crate::costs::CASES),
    ("holdings", crate::costs::holdings::CASES),
];

/// Every case there is.
pub(crate) fn every_case() -> Vec<Case> {
    FAMILIES.iter().flat_map(|(_, cases)| *cases).copied().collect()
}

/// What a program may use that ends by itself, soon.
pub(crate) fn quick_limits() -> Limits {
    Limits { cpu: Duration::from_secs(8), memory: 128 << 20 }
}

/// Every case that is short.
pub(crate) fn every_short_case() -> Vec<Case> {
    every_case().into_iter().filter(Case::is_short).collect()
}

/// Whether the long version was asked for.
pub(crate) fn thorough() -> bool {
    std::env::var_os("WHETSTONE_FULL").is_some_and(|value| value == "1")
}
