//! `whet env phaser install|index`.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use whetstone_core::stack::on_big_stack;
use whetstone_env::phaser::data_folder;
use whetstone_phaser::index::{Index, MAX_BYTES};
use whetstone_sandbox::phaser::install;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::next::NextCommand;
use crate::printer::Printer;

/// `whet env …`.
#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// What the Phaser environment needs: the engine, and the index of its API
    #[command(subcommand)]
    Phaser(PhaserCommand),
}

/// `whet env phaser …`.
#[derive(Debug, Subcommand)]
pub enum PhaserCommand {
    /// Install Phaser from its npm package, so that games can be run
    ///
    /// Takes the archive of Phaser 3.90.0 or 4.2.1, checks its SHA-256, and compiles the engine once into your data folder
    /// (`$XDG_DATA_HOME/whetstone`, or `~/.local/share/whetstone`). Games run on it in the judge's jail, without a browser.
    Install(InstallArgs),

    /// Build the index of Phaser's API from its declarations
    ///
    /// Indexes of 3.90.0 and 4.2.1 are part of `whet`; make one for a version of your own. The declarations are
    /// `types/phaser.d.ts` of the npm package. The same declarations give the same bytes.
    Index(IndexArgs),
}

/// `whet env phaser install`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  npm pack phaser@3.90.0
  whet env phaser install phaser-3.90.0.tgz
  whet doctor                               says whether Phaser is there")]
pub struct InstallArgs {
    /// The archive, as `npm pack phaser@3.90.0` makes it
    #[arg(value_name = "PACKAGE.tgz")]
    pub package: PathBuf,

    /// Print one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

/// `whet env phaser index`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  tar xzf phaser-3.90.0.tgz package/types/phaser.d.ts
  whet env phaser index package/types/phaser.d.ts --phaser-version 3.90.0 --out phaser_api.jsonl")]
pub struct IndexArgs {
    /// Phaser's declarations, `types/phaser.d.ts`
    #[arg(value_name = "phaser.d.ts")]
    pub declarations: PathBuf,

    /// The version that they are of: the file itself does not say
    #[arg(long, value_name = "VERSION")]
    pub phaser_version: String,

    /// The index to write
    #[arg(long, value_name = "FILE", default_value = "phaser_api.jsonl")]
    pub out: PathBuf,

    /// Print one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

/// Runs `whet env …`.
pub(crate) fn run(command: &EnvCommand, printer: Printer) -> anyhow::Result<Exit> {
    match command {
        EnvCommand::Phaser(PhaserCommand::Install(args)) => install_phaser(args, printer),
        EnvCommand::Phaser(PhaserCommand::Index(args)) => make_index(args, printer),
    }
}

fn install_phaser(args: &InstallArgs, printer: Printer) -> anyhow::Result<Exit> {
    let folder = data_folder().ok_or_else(|| Failure::Usage {
        problem: "there is no folder to install to: neither XDG_DATA_HOME nor HOME is set",
        hint: "set XDG_DATA_HOME",
    })?;
    let installed = install(&args.package, &folder).map_err(|error| Failure::Phaser {
        problem: error.to_string(),
        hint: "`npm pack phaser@3.90.0` makes the package",
    })?;
    let version = installed.version().number();
    if args.json {
        printer.json(
            &json!({ "v": 1, "version": version, "folder": folder, "sha256": installed.sha256() }),
        )?;
    } else {
        printer.data(format_args!("Phaser {version} is installed in {}", folder.display()))?;
        NextCommand::whet("data prompts").say(printer);
    }
    Ok(Exit::Done)
}

fn make_index(args: &IndexArgs, printer: Printer) -> anyhow::Result<Exit> {
    let text = read(&args.declarations)?;
    let made = on_big_stack(|stack| Index::from_declarations(&text, &args.phaser_version, stack));
    let made = made.map_err(|error| Failure::io("cannot start a thread".to_owned(), error))?;
    let index = made.map_err(|error| Failure::Phaser {
        problem: format!("`{}`: {error}", args.declarations.display()),
        hint: "the declarations are `types/phaser.d.ts` of the npm package",
    })?;
    whetstone_record::atomic::replace(&args.out, index.write().as_bytes())
        .map_err(Failure::File)?;
    let rows = index.rows().len();
    if args.json {
        let (version, sha256) = (index.version(), index.digest());
        printer.json(
            &json!({ "v": 1, "version": version, "sha256": sha256, "rows": rows, "out": args.out }),
        )?;
    } else {
        printer.data(format_args!(
            "{}: {rows} declarations of Phaser {}",
            args.out.display(),
            index.version()
        ))?;
    }
    Ok(Exit::Done)
}

/// The text of a file of bounded size.
fn read(path: &Path) -> Result<String, Failure> {
    let failed = |source| Failure::io(format!("cannot read `{}`", path.display()), source);
    let mut text = String::new();
    let size = fs::metadata(path).map_err(failed)?.len();
    let limit = MAX_BYTES as u64 + 1;
    File::open(path)
        .map_err(failed)?
        .take(limit.min(size + 1))
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}
