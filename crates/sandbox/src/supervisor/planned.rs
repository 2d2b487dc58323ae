//! The plan of the task whose programs a slot judges: made once, for programs of a task come one after another.

use std::sync::Arc;

use whetstone_core::program::Language;
use whetstone_core::tests::Tests;
use whetstone_core::with_causes;

use crate::plan::{Plan, plan};
use crate::protocol::JudgeRequest;

/// The last plan, and what it is of.
#[derive(Debug, Default)]
pub(super) struct CachedPlan {
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    tests: Tests,
    setup: String,
    language: Language,
    plan: Result<Arc<Plan>, String>,
}

impl CachedPlan {
    /// The plan of a request, or why its tests cannot be used.
    pub(super) fn plan(&mut self, request: &JudgeRequest) -> Result<Arc<Plan>, String> {
        let (setup, language) = (&request.setup, request.program.language);
        if let Some(last) = &self.last
            && (last.language, &last.setup) == (language, setup)
            && is_same(&last.tests, &request.tests)
        {
            return last.plan.clone();
        }
        let plan = plan(&request.tests, setup, language);
        let plan = plan.map(Arc::new).map_err(|error| with_causes(&error));
        let (tests, setup) = (request.tests.clone(), setup.clone());
        self.last = Some(Last { tests, setup, language, plan: plan.clone() });
        plan
    }
}

/// Whether tests are the same. Tests without code are planned quickly, and count as different.
fn is_same(these: &Tests, those: &Tests) -> bool {
    let hidden = match (these, those) {
        (Tests::Asserts(these), Tests::Asserts(those)) => {
            these.hidden.for_the_judge() == those.hidden.for_the_judge()
        }
        (
            Tests::Script { entry_point, suite },
            Tests::Script { entry_point: other, suite: others },
        ) => entry_point == other && suite.hidden.for_the_judge() == others.hidden.for_the_judge(),
        _ => false,
    };
    hidden && these.checker() == those.checker() && these.compare() == those.compare()
}
