//! A composition with its names and tests, written out as a task.

use serde_json::value::{RawValue, to_raw_value};
use whetstone_core::Task;
use whetstone_core::extract::{Form, Response};
use whetstone_core::program::Language;
use whetstone_core::task::TaskId;
use whetstone_core::tests::{Call, Suite, Tests};
use whetstone_core::wire::Object;

use super::names::TaskNames;
use super::program::Composition;
use super::python::WrittenCode;
use super::suite::{Case, Cases};
use super::value::Value;
use super::{SOURCE, english, reasoning};
use crate::random::Random;

/// The parts of a task.
pub(super) struct Draft<'a> {
    pub(super) program: &'a Composition,
    pub(super) names: &'a TaskNames,
    pub(super) cases: &'a Cases,
    pub(super) reference: WrittenCode,
}

impl Draft<'_> {
    pub(super) fn finish(self, id: &str, random: &mut Random) -> Task {
        let statement = self.statement(random);
        let rest = self.rest(random);
        let Self { program, names, cases, reference } = self;
        let calls = |cases: &[Case]| cases.iter().map(|case| call(program, case)).collect();
        let suite = Suite::new(calls(&cases.visible), calls(&cases.hidden));
        Task {
            id: TaskId::try_from(id.to_owned()).expect("short and plain"),
            source: Some(SOURCE.to_owned()),
            difficulty: Some(program.difficulty().to_string()),
            statement,
            language: Language::Python,
            reference: Some(reference.source),
            setup: String::new(),
            tests: Tests::Calls {
                entry_point: names.function.clone(),
                suite: suite.expect("at least five hidden tests"),
            },
            body: None,
            rest,
        }
    }

    /// The statement, with an example now and then.
    fn statement(&self, random: &mut Random) -> String {
        let mut statement = english::statement(self.program, self.names, random);
        if random.chance(25) {
            let case = random.pick(&self.cases.visible);
            let values = self.program.values(&case.arguments);
            let arguments: Vec<String> = values.iter().map(Value::to_string).collect();
            let call = format!("`{}({})`", self.names.function, arguments.join(", "));
            let verb = random.phrase(&["returns", "gives", "is"]);
            statement = format!("{statement} For example, {call} {verb} `{}`.", case.expected);
        }
        statement
    }

    /// Fields of ours that pass through: the family, the shape and the reference trace.
    fn rest(&self, random: &mut Random) -> Object {
        let thinking =
            reasoning::reasoning(self.program, self.names, &self.reference.taken, random);
        let trace = Response::new(Form::ThinkPython, &thinking, &self.reference.source);
        let mut rest = Object::new();
        rest.put("family", &self.program.family);
        rest.put("shape", &self.program.shape());
        rest.put("trace", &trace.expect("plain sentences and code").render());
        rest
    }
}

fn call(program: &Composition, case: &Case) -> Call {
    Call {
        args: program.values(&case.arguments).iter().map(raw).collect(),
        kwargs: Object::new(),
        expected: raw(&case.expected),
        alternatives: Vec::new(),
    }
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("plain data")
}
