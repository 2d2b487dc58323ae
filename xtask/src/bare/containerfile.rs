//! The instructions of a Containerfile that ours uses, carried out without a container engine.
//!
//! `FROM` is the bare system, whatever image it names. What is not known is refused: a step that was passed
//! over would prove nothing.

use std::path::Path;

use super::find;
use super::measure::Row;
use super::system::System;

/// An instruction.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A command for the shell.
    Run(String),
    /// Files of the build's folder, as patterns, and where they go.
    Copy(Vec<String>, String),
    /// The folder in which later commands start.
    WorkingFolder(String),
    /// The program of the container.
    Program(Vec<String>),
    /// Its arguments by default.
    Arguments(Vec<String>),
}

/// Reads the instructions below `FROM`.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let steps = lines.filter(|line| !line.starts_with("FROM ")).map(|line| {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "RUN" => Ok(Step::Run(rest.to_owned())),
            "COPY" => copy(rest),
            "WORKDIR" => Ok(Step::WorkingFolder(rest.to_owned())),
            "ENTRYPOINT" => list(rest).map(Step::Program),
            "CMD" => list(rest).map(Step::Arguments),
            _ => Err(format!("Containerfile: `{name}` is not carried out here")),
        }
    });
    steps.collect()
}

fn copy(rest: &str) -> Result<Step, String> {
    let mut words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
    match words.pop() {
        Some(to) if !words.is_empty() => Ok(Step::Copy(words, to)),
        _ => Err(format!("Containerfile: `COPY {rest}` has no target")),
    }
}

/// A list of strings as JSON writes it, which TOML reads too.
fn list(text: &str) -> Result<Vec<String>, String> {
    let table: toml::Table = format!("list = {text}")
        .parse()
        .map_err(|err| format!("Containerfile: `{text}` is not a list of words: {err}"))?;
    let words = table["list"].as_array().into_iter().flatten();
    Ok(words.filter_map(|word| word.as_str().map(str::to_owned)).collect())
}

/// Does every step in order, and runs the container at the end.
pub(super) fn carry_out(
    steps: &[Step],
    folder: &Path,
    system: &mut System,
) -> Result<Vec<Row>, String> {
    let (mut rows, mut program, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Run(command) => rows.push(system.run(&["sh", "-c", command])?),
            Step::Copy(patterns, to) => copy_in(folder, patterns, to, system)?,
            Step::WorkingFolder(path) => path.clone_into(&mut system.working_folder),
            Step::Program(words) => program.clone_from(words),
            Step::Arguments(words) => arguments.clone_from(words),
        }
    }
    let words: Vec<&str> = program.iter().chain(&arguments).map(String::as_str).collect();
    rows.push(system.run(&words)?);
    Ok(rows)
}

fn copy_in(folder: &Path, patterns: &[String], to: &str, system: &System) -> Result<(), String> {
    for pattern in patterns {
        let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
        let from = find(folder, start, end)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        system.copy(&from, &format!("{}/{name}", to.trim_end_matches('/')))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_containerfile_is_understood_to_its_end() {
        let path = crate::root().join("dist/Containerfile");
        let steps = parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert!(steps.contains(&Step::Run("whet doctor".to_owned())), "{steps:?}");
        let last = &steps[steps.len() - 2..];
        assert_eq!(last, [Step::Program(words(&["whet"])), Step::Arguments(words(&["doctor"]))]);
    }

    #[test]
    fn an_instruction_that_is_not_known_is_refused() {
        assert_eq!(
            parse("FROM a\nUSER nobody\n").unwrap_err(),
            "Containerfile: `USER` is not carried out here"
        );
        assert!(parse("COPY a\n").unwrap_err().ends_with("has no target"));
        assert!(parse("CMD whet doctor\n").unwrap_err().contains("is not a list of words"));
    }

    #[test]
    fn a_copy_has_any_number_of_patterns() {
        let expected = Step::Copy(vec!["a".to_owned(), "b-*.gz".to_owned()], "/opt/".to_owned());
        assert_eq!(parse("COPY a b-*.gz /opt/\n").unwrap(), [expected]);
    }
}
