//! A judge that runs nothing, files of tasks, and a second process to be killed.
//!
//! The stand-in reads its verdict off words in the program's source, which is the reference with
//! functions replaced or a trivial answer alone. The time it claims is different at every call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use whetstone_core::judgement::{Counts, Held, Infrastructure, Isolation, Judgement};
use whetstone_core::verdict::Verdict;
use whetstone_data::prove::{Earlier, ProofSummary, ProveError, Proving, prove};
use whetstone_sandbox::job::{Job, Judging, Limits, Unjudged};

/// Threads of a validation: as many tasks can be in the judge's hands at once.
pub(crate) const WORKERS: usize = 4;

/// A judge that runs nothing.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) calls: AtomicU32,
    pub(crate) sources: Mutex<Vec<String>>,
    /// Called before each verdict with the number of the call.
    pub(crate) before: Option<Box<dyn Fn(u32) + Send + Sync>>,
    /// The machine is whole again: what broke does not.
    pub(crate) mended: bool,
    /// It has other hashes.
    pub(crate) other_hashes: bool,
}

impl Fake {
    /// How many programs it was asked about.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// The programs it was asked about.
    pub(crate) fn sources(&self) -> Vec<String> {
        self.sources.lock().expect("no test panics there").clone()
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
        let reference = !source.is_empty() && !source.contains("*args");
        let (verdict, passed) = if source.contains("BROKEN") && !self.mended {
            return Err(Infrastructure("no zygote".to_owned()).into());
        } else if source.contains("BAD TEST") {
            return Err(Unjudged::BrokenTests("NameError('g')".to_owned()));
        } else if source.contains("SLOW") {
            (Verdict::Timeout, 0)
        } else if source.contains("WRONG") || (source.contains("FLAKY") && self.other_hashes) {
            (Verdict::Wrong { test: 0 }, 0)
        } else if reference || source.contains("EASY") {
            (Verdict::Pass, total)
        } else {
            (Verdict::Raised { test: 0, kind: "TypeError".to_owned() }, 0)
        };
        let cpu_ms = 0.25 + f64::from(call % 1000) / 7.0;
        let held = Held { cpu_ms, isolation: Isolation::Full };
        Ok(Judgement::of_run(verdict, Counts { passed, total }, held).expect("it fits"))
    }
}

/// A folder with tasks.
pub(crate) struct Bench {
    pub(crate) folder: PathBuf,
}

/// What differs from one validation to the next.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) earlier: Earlier,
    pub(crate) limit: Option<u64>,
    pub(crate) only_report: bool,
}

impl Bench {
    /// A folder with these lines in `tasks.jsonl`.
    pub(crate) fn new(folder: &Path, tasks: &str) -> Self {
        fs::write(folder.join("tasks.jsonl"), tasks).expect("a file");
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    /// Validates `tasks.jsonl` into `NAME` and `NAME.dropped`.
    pub(crate) fn prove(
        &self,
        name: &str,
        judges: &[&dyn Judging],
        asked: &Asked,
    ) -> Result<ProofSummary, ProveError> {
        let (out, dropped) = (self.path(name), self.path(&format!("{name}.dropped")));
        prove(&Proving {
            files: &[self.path("tasks.jsonl")],
            out: (!asked.only_report).then_some(&out),
            dropped: (!asked.only_report).then_some(&dropped),
            judges,
            identity: "fake 1",
            limits: Limits::default(),
            slow: Duration::from_secs(2),
            runs: 2,
            limit: asked.limit,
            workers: WORKERS,
            earlier: asked.earlier,
            on_start: &|_| {},
            on_task: &|| {},
        })
    }
}

/// A task whose reference has this word in it.
pub(crate) fn task(id: &str, source: &str, word: &str) -> String {
    let tests = r#"{"kind":"asserts","hidden":["assert f(1) == 2","assert f(2) == 3"]}"#;
    format!(
        "{{\"id\":\"{id}\", \"source\":\"{source}\",\"statement\":\"s\",\"reference\":\"# {word}\",\"tests\":{tests}}}\n"
    )
}
