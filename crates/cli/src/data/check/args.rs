//! Arguments and help of `whet data check`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use whetstone_recipe::checking::{CheckRequest, FileKind};

/// `whet data check`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct CheckArgs {
    /// Files to check
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// The kind of the files [default: found out by the name and the fields of the first line]
    #[arg(long = "as", value_name = "KIND", value_parser = kind())]
    pub kind: Option<FileKind>,

    /// Bad lines of each file that are shown
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub show: u32,

    /// Print the report as one JSON document instead of lines
    #[arg(long)]
    pub json: bool,
}

impl CheckArgs {
    /// The files to check.
    pub(super) fn request(&self) -> CheckRequest {
        CheckRequest { files: self.files.clone(), kind: self.kind, shown: self.show as usize }
    }
}

/// The name of a kind.
fn kind() -> impl TypedValueParser<Value = FileKind> {
    PossibleValuesParser::new(FileKind::all().map(FileKind::name))
        .map(|name| FileKind::named(&name).expect("it is one of the possible values"))
}

const AFTER_HELP: &str = "\
Each line is read by the reader of the commands: a file without problems is accepted by them. For each bad line
its number, the field, the problem and a fix are printed. An id that stands twice is a problem in tasks, pairs and
prompt seeds. Fields that are not of the kind pass through unread; they are listed, with the field that was probably
meant. `docs/reference/formats.md` has an example of every kind.

A line may be long and a file larger than memory. Files ending in .gz are unpacked on the way.

Not checked: whether tests run and references pass them (`whet data validate`), and whether the tasks that a file of
rollouts names are there (`whet score`).

Examples:
  whet data check data/train.jsonl data/val.jsonl
  whet data check mine.jsonl --as tasks
  whet data check runs/grpo-1/events.jsonl my.toml --json

Exit codes: 0 every line is right, 1 something is wrong, 2 wrong usage, or a file cannot be read, 3 something broke.";
