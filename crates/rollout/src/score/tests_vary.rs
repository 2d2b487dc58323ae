//! Which tasks have code of their own that may do something else the next time.

use std::sync::OnceLock;

use whetstone_core::program::Program;
use whetstone_core::task::Task;
use whetstone_env::python::{Reading, Rules, tests_may_vary};
use whetstone_env::stack::BigStack;

/// One answer for each task, found out when it is first needed.
#[derive(Debug)]
pub(super) struct TestsVary(Vec<OnceLock<bool>>);

impl TestsVary {
    /// Nothing is known of so many tasks.
    pub(super) fn new(tasks: usize) -> Self {
        Self((0..tasks).map(|_| OnceLock::new()).collect())
    }

    /// Reads a program for the task with this number; it may vary if the task's own code does.
    pub(super) fn read(
        &self,
        rules: &Rules,
        number: u32,
        task: &Task,
        program: Program,
        stack: &BigStack,
    ) -> Reading {
        let mut reading = rules.read_program(task, Some(program), stack);
        if let Reading::Runs(candidate) = &mut reading
            && let Some(found) = self.0.get(number as usize)
        {
            let look = || tests_may_vary(task, rules.python, stack);
            candidate.may_vary |= *found.get_or_init(look);
        }
        reading
    }
}
