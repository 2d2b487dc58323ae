//! The names in a test that are functions of the program.

use std::collections::BTreeMap;

use ruff_python_ast::Stmt;

use crate::plan::answers::is_class;
use crate::plan::function::ProgramFunction;
use crate::plan::names::ScopeNames;
use crate::plan::python::is_module;
use crate::plan::question::is_of_program;
use crate::plan::setup::TestSetup;

/// The names that are functions of the program, or what it has in place of a module.
pub(super) fn functions<'a>(
    names: &'a ScopeNames,
    setup: &'a TestSetup,
    candidate: Option<&'a str>,
    entry_point: Option<&'a str>,
) -> BTreeMap<&'a str, ProgramFunction> {
    let is_called_module = |name: &str| is_module(name) && names.calls(name) && !setup.binds(name);
    let is_programs =
        |name: &&str| is_of_program(name, setup) && !setup.makes(name) || is_called_module(name);
    let of_setup = setup.proxies.iter().chain(&setup.makers).map(String::as_str);
    let mut functions: BTreeMap<&str, ProgramFunction> = names
        .free()
        .chain(of_setup)
        .filter(is_programs)
        .map(|name| (name, ProgramFunction::Other))
        .collect();
    let asked_for = candidate.into_iter().chain(entry_point.filter(|name| !is_class(name)));
    functions.extend(asked_for.map(|name| (name, ProgramFunction::EntryPoint)));
    functions
}

/// The name by which `check(candidate)` knows the program.
pub(super) fn candidate(statements: &[Stmt]) -> Option<&str> {
    statements.iter().find_map(|statement| match statement {
        Stmt::FunctionDef(def) if def.name.as_str() == "check" => {
            def.parameters.iter().next().map(|parameter| parameter.name().as_str())
        }
        _ => None,
    })
}
