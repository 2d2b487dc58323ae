//! `cargo xtask`: runs one step of CI, or all of them.
//!
//! Exit codes are those of `whet`: 0 done, 1 the answer is no, 2 usage, 3 broken.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use xtask::ci::Skipping;
use xtask::steps::{self, STEPS};
use xtask::{bare, ci, dist, docs, gpu, hostile, pictures, site, stats};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    run(&words).unwrap_or_else(|broken| {
        // Nothing can be said when the terminal itself is gone.
        let _ = writeln!(io::stderr(), "error: {broken}");
        ExitCode::from(3)
    })
}

fn run(words: &[&str]) -> io::Result<ExitCode> {
    let root = &xtask::root();
    match words {
        ["help" | "--help" | "-h"] => help(),
        ["ci"] => ci::run(root, STEPS, Skipping::Told, &mut io::stderr()),
        ["ci", "--strict"] => ci::run(root, STEPS, Skipping::Fails, &mut io::stderr()),
        ["docs", "--write"] => write_docs(root),
        ["stats"] => count(root),
        ["hostile"] => hostile::run(root, &mut io::stderr()),
        ["gpu", rest @ ..] => answer(gpu::run(root, rest, &mut io::stderr())),
        ["dist", rest @ ..] => answer(dist::run(root, rest, &mut io::stderr())),
        ["bare", rest @ ..] => bare::run(root, rest, &mut io::stderr()),
        ["site", rest @ ..] => answer(site::run(root, rest, &mut io::stderr())),
        ["pictures", rest @ ..] => answer(pictures::run(root, rest, &mut io::stderr())),
        [name] => match STEPS.iter().position(|step| step.name == *name) {
            Some(at) => ci::run(root, &STEPS[at..=at], Skipping::Told, &mut io::stderr()),
            None => usage(&format!("there is no step `{name}`")),
        },
        [] => usage("which step?"),
        _ => usage(
            "one step at a time; only `ci`, `docs`, `gpu`, `dist`, `bare`, `site` and `pictures` have flags",
        ),
    }
}

fn help() -> io::Result<ExitCode> {
    io::stdout().write_all(steps::help().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn count(root: &Path) -> io::Result<ExitCode> {
    io::stdout().write_all(stats::count(root)?.to_string().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn write_docs(root: &Path) -> io::Result<ExitCode> {
    match docs::write(root) {
        Ok(report) => writeln!(io::stderr(), "{report}").map(|()| ExitCode::SUCCESS),
        Err(why) => writeln!(io::stderr(), "error: {why}").map(|()| ExitCode::FAILURE),
    }
}

fn answer(result: Result<(), String>) -> io::Result<ExitCode> {
    match result {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(why) => writeln!(io::stderr(), "error: {why}").map(|()| ExitCode::FAILURE),
    }
}

fn usage(problem: &str) -> io::Result<ExitCode> {
    write!(io::stderr(), "error: {problem}\n\n{}", steps::help())?;
    Ok(ExitCode::from(2))
}
