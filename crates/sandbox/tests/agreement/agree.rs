//! Whether the judge and plain `CPython` say the same of a program.
//!
//! They differ by design where a test and a program share more than plain data, because nothing
//! else leaves a program's process. No reference or mutant comes upon one of these, so nothing here
//! excuses them:
//!
//! - objects of the program's own classes (also named tuples, enums and dates) in test code that is
//!   more than `expression == literal`: only what a class of the program makes when the test calls it
//!   can be used there, by its attributes and methods; equality, truth and length stay behind;
//! - objects of the setup's classes are copied: their attributes arrive, identity (`is`) between calls
//!   does not, and a function whose value the test uses does not change its arguments there;
//! - an answer whose `__eq__` is its own: it is compared as the plain data that it is based on, or
//!   fails;
//! - exceptions reach test code by their first built-in type, without their arguments;
//! - names that a program redefines (`len`) keep their meaning in test code that a checker runs;
//! - two arguments that are one list are two lists for the program, and a NaN is never itself;
//! - answers of more than 1 MiB, deeper than 64, of more than 30,000 objects, or iterators of more than
//!   10,000 items fail.

use std::fmt;
use std::time::Duration;

use whetstone_core::judgement::Judgement;
use whetstone_core::verdict::Verdict;
use whetstone_sandbox::job::Unjudged;

use crate::case::{Case, Judged, Plain};

/// What a comparison shows.
#[derive(Debug, PartialEq, Eq)]
enum Agreement {
    /// They say the same.
    Same,
    /// It takes about as long as the limit: either may be right.
    Borderline,
    /// They do not.
    Different(String),
}

/// How many cases of a kind there are, and how they came out.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// How long the judge took for all.
    took: Duration,
    /// All of them.
    pub(crate) total: usize,
    /// Those that pass.
    pub(crate) passes: usize,
    /// Those that run out of time.
    timeouts: usize,
    /// Those that take about as long as the limit.
    pub(crate) borderline: Vec<String>,
    /// Those of which judge and `CPython` say different things.
    different: Vec<String>,
}

impl Counts {
    /// Compares them all.
    pub(crate) fn of(judged: &Judged) -> Self {
        let mut counts = Self { took: judged.took, ..Self::default() };
        let Judged { cases, plain, ours, .. } = judged;
        assert_eq!((cases.len(), plain.len()), (ours.len(), ours.len()));
        for ((case, plain), ours) in cases.iter().zip(plain).zip(ours) {
            assert_eq!(case.id, plain.id);
            counts.total += 1;
            let verdict = ours.as_ref().ok().map(Judgement::verdict);
            counts.passes += usize::from(verdict == Some(&Verdict::Pass));
            counts.timeouts += usize::from(verdict == Some(&Verdict::Timeout));
            match compare(case, plain, ours) {
                Agreement::Same => {}
                Agreement::Borderline => counts.borderline.push(case.id.clone()),
                Agreement::Different(how) => counts.different.push(format!("{}: {how}", case.id)),
            }
        }
        counts
    }

    /// Fails, with all differences, if there is any.
    #[track_caller]
    pub(crate) fn must_agree(&self) {
        assert!(self.different.is_empty(), "{}", self.different.join("\n"));
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { took, total, passes, timeouts, borderline, different } = self;
        let different = different.len();
        write!(
            f,
            "{total} judged in {took:.1?}, {passes} pass, {timeouts} run out of time, {different} \
             different, {} borderline: {borderline:?}",
            borderline.len(),
        )
    }
}

/// Compares what both say of one case.
fn compare(case: &Case, plain: &Plain, ours: &Result<Judgement, Unjudged>) -> Agreement {
    let share = plain.cpu_s / case.cpu_s;
    let timeout = plain.end == "timeout" || share >= 1.3;
    if !timeout && share >= 0.7 {
        return Agreement::Borderline;
    }
    let ours = match ours {
        Ok(ours) => ours,
        Err(problem) => return Agreement::Different(problem.to_string()),
    };
    let passed = plain.tests.iter().filter(|test| *test == "pass").count();
    let same = if timeout && plain.tests.iter().all(|test| test == "pass") {
        // A program that fills memory or writes without end may be stopped for that first.
        matches!(ours.verdict(), Verdict::Timeout | Verdict::Memory | Verdict::Output)
    } else {
        ours.counts().passed as usize == passed && is_alike(case, plain, ours.verdict())
    };
    if same {
        Agreement::Same
    } else {
        Agreement::Different(format!("{:?} {:?}, plain: {plain:?}", ours.verdict(), ours.counts()))
    }
}

/// Whether the first thing that goes wrong is the same.
fn is_alike(case: &Case, plain: &Plain, verdict: &Verdict) -> bool {
    if let Some(kind) = plain.end.strip_prefix("load ") {
        return *verdict == load_error(kind);
    }
    // What goes wrong first is what counts, even if a later test never ends.
    let first = plain.tests.iter().enumerate().find(|(_, test)| *test != "pass");
    let Some((number, kind)) = first else { return verdict.is_pass() };
    match verdict {
        // An answer that is no plain data equals nothing that a test can write down.
        Verdict::Wrong { test } | Verdict::Unserialisable { test } => {
            *test as usize == number && (kind == "AssertionError" || case.tests.kind() != "asserts")
        }
        Verdict::Raised { test, kind: ours } => *test as usize == number && ours == kind,
        Verdict::Memory => kind == "MemoryError",
        _ => false,
    }
}

fn load_error(kind: &str) -> Verdict {
    match kind {
        "MemoryError" => Verdict::Memory,
        kind => Verdict::LoadError { kind: kind.to_owned() },
    }
}
