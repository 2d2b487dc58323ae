//! `cargo xtask bare`: the installation, timed on a system that has nothing yet.
//!
//! `debootstrap` makes a minimal Debian or Ubuntu, and commands run in it as in a container: with mounts,
//! processes and a root of their own ([`system`]). What is measured is what a new user waits for: wall time, CPU
//! time and disk. The network is the host's, and so is the configuration of the registries ([`host`]).
//!
//! The parts are those of the guide: the wheel, the container's steps, and the two commands of the README from
//! source. It needs root and says so; nothing outside its folder is changed.

mod containerfile;
mod host;
mod measure;
mod options;
mod system;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use host::Host;
use measure::Row;
use options::{Keep, Options, Part};
use system::{HOME, Recipe, System};

/// The line of help.
pub const WHAT: &str =
    "installs and runs on a bare system, timed; needs root and debootstrap [--help]";

/// What a system has beside the minimum, to run programs and to build them.
const PYTHON: [&str; 2] = ["python3", "python3-venv"];
const SOURCE: [&str; 5] = ["gcc", "libc6-dev", "python3", "git", "ca-certificates"];

/// Where things are put inside.
const VENV: &str = "/opt/venv";
const TOOLCHAIN: &str = "/opt/rust";
const CHECKOUT: &str = "/srv/whetstone";

/// Runs the command with its arguments.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> std::io::Result<ExitCode> {
    if let [.., "--help" | "-h"] = words {
        writeln!(out, "{}", options::HELP)?;
        return Ok(ExitCode::SUCCESS);
    }
    let ready = Options::parse(root, words).and_then(|options| Ok((options, Host::read()?)));
    let (options, host) = match ready {
        Ok(ready) => ready,
        Err(problem) => {
            writeln!(out, "error: {problem}")?;
            return Ok(ExitCode::from(2));
        }
    };
    let mut rows = Vec::new();
    let done = parts(&Bare { root, options: &options, host: &host }, &mut rows, out);
    write!(out, "\n{}", measure::table(&rows))?;
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(problem) => {
            writeln!(out, "error: {problem}")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// What every part is given.
struct Bare<'a> {
    root: &'a Path,
    options: &'a Options,
    host: &'a Host,
}

impl Bare<'_> {
    /// A new system in a folder of this name.
    fn system(&self, name: &str, packages: &[&str], rows: &mut Vec<Row>) -> Result<System, String> {
        let folder = self.options.folder.join(name);
        rows.push(Row::heading(name));
        let made = System::make(self.host, &Recipe { folder: &folder, packages })?;
        rows.push(made.0);
        Ok(made.1)
    }

    /// Removes the system, unless it is to be looked at.
    fn end(&self, system: System) -> Result<(), String> {
        match self.options.keep {
            Keep::Nothing => system.remove(),
            Keep::Systems => Ok(()),
        }
    }
}

fn parts(bare: &Bare, rows: &mut Vec<Row>, out: &mut dyn Write) -> Result<(), String> {
    let asked = |part| bare.options.parts.contains(&part);
    if asked(Part::Wheel) {
        wheel(bare, rows)?;
    }
    if asked(Part::Container) {
        container(bare, rows)?;
    }
    if asked(Part::Quickstart) || asked(Part::Ci) {
        source(bare, rows, out)?;
    }
    Ok(())
}

/// `pip install` of the wheel where there is nothing but python3, then the first two commands.
fn wheel(bare: &Bare, rows: &mut Vec<Row>) -> Result<(), String> {
    let wheel = find(&bare.root.join("target/dist"), "", ".whl")?;
    let mut system = bare.system("wheel", &PYTHON, rows)?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    system.copy(&wheel, &format!("/srv/{name}"))?;
    system.put_on_path(&format!("{VENV}/bin"));
    rows.push(system.run(&["python3", "-m", "venv", VENV])?);
    rows.push(system.run(&["pip", "install", "--no-index", &name])?);
    rows.push(system.run(&["whet", "doctor"])?);
    rows.push(system.run(&["whet", "quickstart"])?);
    bare.end(system)
}

/// The steps of the Containerfile, without a container engine.
fn container(bare: &Bare, rows: &mut Vec<Row>) -> Result<(), String> {
    let folder = bare.root.join("target/dist");
    let path = folder.join("Containerfile");
    let text = fs::read_to_string(&path).map_err(|err| {
        format!("{}: {err}\nhint: make it with `cargo xtask dist`", path.display())
    })?;
    let steps = containerfile::parse(&text)?;
    let mut system = bare.system("container", &[], rows)?;
    rows.extend(containerfile::carry_out(&steps, &folder, &mut system)?);
    bare.end(system)
}

/// The two commands of the README, in a clone of the commit that is checked out.
fn source(bare: &Bare, rows: &mut Vec<Row>, out: &mut dyn Write) -> Result<(), String> {
    let mut system = bare.system("source", &SOURCE, rows)?;
    let toolchain = host::output("rustc", &["--print", "sysroot"])?;
    for folder in ["bin", "lib", "libexec"] {
        let from = Path::new(&toolchain).join(folder);
        if from.is_dir() {
            system.copy(&from, &format!("{TOOLCHAIN}/{folder}"))?;
        }
    }
    system.put_on_path(&format!("{TOOLCHAIN}/bin"));
    if let Some(config) = &bare.host.cargo_config {
        system.copy(config, &format!("/{HOME}/.cargo/config.toml"))?;
    }
    clone(bare.root, &system.inside(CHECKOUT), out)?;
    CHECKOUT.clone_into(&mut system.working_folder);
    if bare.options.parts.contains(&Part::Quickstart) {
        rows.push(system.run(&["cargo", "run", "--release", "--", "quickstart"])?);
    }
    if bare.options.parts.contains(&Part::Ci) {
        rows.push(system.run(&["cargo", "xtask", "ci"])?);
    }
    bare.end(system)
}

/// Clones what is committed, and says what is not.
fn clone(root: &Path, to: &Path, out: &mut dyn Write) -> Result<(), String> {
    let (root, to) = (root.to_string_lossy(), to.to_string_lossy());
    let commit = host::output("git", &["-C", &root, "rev-parse", "HEAD"])?;
    host::output("git", &["clone", "--quiet", "--no-hardlinks", "--no-checkout", &root, &to])?;
    host::output("git", &["-C", &to, "checkout", "--quiet", &commit])?;
    let changed = host::output("git", &["-C", &root, "status", "--porcelain"])?;
    let changed = match changed.lines().count() {
        0 => String::new(),
        files => format!("; {files} changed files are not part of it"),
    };
    writeln!(out, "cloned {commit}{changed}").map_err(|err| err.to_string())
}

/// The one file of a folder with such a name.
fn find(folder: &Path, start: &str, end: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(end)
    };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(fits).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path),
        (None, _) => Err(format!(
            "there is no {start}*{end} in {}\nhint: make it with `cargo xtask dist`",
            folder.display()
        )),
        (Some(_), false) => Err(format!("there are several {start}*{end} in {}", folder.display())),
    }
}

/// Runs a program to its end; `Err` names it.
fn finish(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` ended with {status}")),
        Err(err) => Err(format!("cannot start `{name}`: {err}")),
    }
}
