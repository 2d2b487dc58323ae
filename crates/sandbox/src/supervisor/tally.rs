//! The results of a program so far: the number of passed tests, and the first failure.

use whetstone_core::judgement::{Counts, Held, Judgement};
use whetstone_core::verdict::Verdict;

/// The results of a program so far.
#[derive(Debug)]
pub(crate) struct TestTally {
    total: u32,
    passed: u32,
    first: Option<Verdict>,
    /// The first wrong answer.
    got: Option<String>,
    /// There was no first test.
    while_loading: bool,
}

impl TestTally {
    /// Nothing yet, of `total` tests.
    pub(crate) fn new(total: usize) -> Self {
        Self {
            total: u32::try_from(total).unwrap_or(u32::MAX),
            passed: 0,
            first: None,
            got: None,
            while_loading: false,
        }
    }

    /// One test more passed.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Something went wrong; the first time is what the verdict says.
    pub(crate) fn fail(&mut self, verdict: Verdict) {
        self.first.get_or_insert(verdict);
    }

    /// A test was answered wrongly, with this answer as people read it.
    pub(crate) fn wrong(&mut self, test: u32, got: Option<String>) {
        if self.first.is_none() {
            self.got = got;
        }
        self.fail(Verdict::Wrong { test });
    }

    /// The program did not load.
    pub(crate) fn fail_loading(&mut self, verdict: Verdict) {
        self.while_loading |= self.first.is_none();
        self.fail(verdict);
    }

    /// Whether nothing went wrong.
    pub(crate) fn is_clean(&self) -> bool {
        self.first.is_none()
    }

    /// The whole of it.
    pub(crate) fn judgement(self, held: Held) -> Result<Judgement, String> {
        let counts = Counts { passed: self.passed, total: self.total };
        let verdict = self.first.unwrap_or(Verdict::Pass);
        let judgement = if self.while_loading {
            Judgement::of_loading(verdict, self.total, held)
        } else {
            Judgement::of_run(verdict, counts, held)
        };
        let judgement = judgement.map_err(|error| error.to_string())?;
        Ok(judgement.with_got(self.got.as_deref()))
    }
}
