//! The program's list in two filters, so that every child installs a short one.
//!
//! The kernel compiles a filter when it is installed, and a child is there for milliseconds. So the
//! zygote installs what is common to all: the program's list, and beside it what it takes to build a
//! jail. A child, when its jail is built, takes the tools away again. Of two filters the kernel
//! follows the stricter, so together they are the program's list; a test holds them against it.

use super::compile::{Compiled, compile, compile_exceptions};
use super::rules::{Condition, FilterAction, REFUSED, SyscallRule, SyscallRules};

/// The two filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    /// For the zygote, and so for all its children.
    pub zygote: Compiled,
    /// The filter that a child adds.
    pub child: Compiled,
}

impl Stages {
    /// Divides the program's list; `tools` are the calls that build a jail.
    pub fn new(program: &SyscallRules, tools: &SyscallRules) -> Self {
        let is_tool = |name: &str| tools.0.iter().any(|tool| tool.name == name);
        // Whose id it is, is known in the child alone.
        let asks_who = |rule: &SyscallRule| {
            rule.conditions.iter().any(|condition| matches!(condition, Condition::OwnPid(_)))
        };
        let is_childs = |name: &str| {
            is_tool(name) || program.0.iter().any(|rule| rule.name == name && asks_who(rule))
        };
        let listed = |name: &str| program.0.iter().any(|rule| rule.name == name);
        let free = |rule: &SyscallRule| SyscallRule {
            verdict: FilterAction::Allow,
            conditions: Vec::new(),
            ..rule.clone()
        };
        let refused = |tool: &SyscallRule| SyscallRule { verdict: REFUSED, ..tool.clone() };

        let common = program
            .0
            .iter()
            .map(|rule| if is_childs(&rule.name) { free(rule) } else { rule.clone() });
        let only_tools: Vec<&SyscallRule> =
            tools.0.iter().filter(|tool| !listed(&tool.name)).collect();
        let zygote = common.chain(only_tools.iter().map(|tool| free(tool))).collect();
        let own = program.0.iter().filter(|rule| is_childs(&rule.name)).cloned();
        let child = own.chain(only_tools.iter().map(|tool| refused(tool))).collect();
        Self {
            zygote: compile(&SyscallRules(zygote)),
            child: compile_exceptions(&SyscallRules(child)),
        }
    }
}
