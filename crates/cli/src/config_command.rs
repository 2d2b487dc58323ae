//! `whet config show|check|reference`.

use schemars::schema_for;
use serde::Serialize;
use whetstone_config::{Layer, Loaded, Problem};
use whetstone_core::config::Config;

use crate::cli::{ConfigArgs, ConfigFileArgs, ReferenceArgs};
use crate::exit::Exit;
use crate::failure::{Failure, counted};
use crate::printer::{Printer, Tone};

/// `whet config show`.
pub(crate) fn show(args: &ConfigFileArgs, printer: Printer) -> anyhow::Result<Exit> {
    let loaded = load(&all(args))?;
    if args.json {
        printer.json(&loaded.config)?;
    } else {
        printer.raw(&whetstone_config::show(&loaded))?;
    }
    Ok(Exit::Done)
}

/// `whet config check`: the problems are the answer, so they are data, and so are warnings, which
/// leave the config right. What `whet train grpo` alone refuses is a problem of a config that sets a key of
/// `[grpo]`, and a warning in any other: it may be meant for `whet train sft`.
pub(crate) fn check(args: &ConfigFileArgs, printer: Printer) -> anyhow::Result<Exit> {
    let answer = Answer::of(problems_of(&[], &all(args)));
    if args.json {
        printer.json(&answer)?;
    } else {
        answer.print(printer)?;
    }
    Ok(if answer.ok { Exit::Done } else { Exit::Usage })
}

/// What is said of a config.
#[derive(Serialize)]
struct Answer {
    ok: bool,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    /// The command that refuses the config, though it has no problems.
    refused_by: Option<&'static str>,
}

impl Answer {
    fn of(loaded: Result<Loaded, Vec<Problem>>) -> Self {
        let mut refused_by = None;
        let (problems, warnings) = match loaded {
            Err(problems) => (problems, Vec::new()),
            Ok(loaded) => {
                let (mut warnings, refused) = (loaded.warnings(), loaded.refused_by_grpo());
                if loaded.is_for_grpo() {
                    (refused, warnings)
                } else {
                    refused_by = (!refused.is_empty()).then_some("whet train grpo");
                    warnings.extend(refused);
                    (Vec::new(), warnings)
                }
            }
        };
        Self { ok: problems.is_empty(), problems, warnings, refused_by }
    }

    fn print(&self, printer: Printer) -> anyhow::Result<()> {
        let warning = printer.toned("warning", Tone::Doubtful);
        for problem in &self.warnings {
            printer.data(format_args!("{warning}: {problem}"))?;
        }
        for problem in &self.problems {
            printer.data(problem)?;
        }
        let (word, tone) = if self.ok { ("ok", Tone::Good) } else { ("error", Tone::Bad) };
        let word = printer.toned_talk(word, tone);
        let refused = self.refused_by.map(|command| format!(", but `{command}` refuses it"));
        let refused = refused.unwrap_or_default();
        let count = counted(self.problems.len(), "problem");
        printer.note(format_args!("{word}: the config has {count}{refused}"));
        Ok(())
    }
}

/// `whet config reference`.
pub(crate) fn reference(args: &ReferenceArgs, printer: Printer) -> anyhow::Result<Exit> {
    if args.json {
        printer.json(&schema_for!(Config))?;
    } else {
        printer.raw(&whetstone_config::reference())?;
    }
    Ok(Exit::Done)
}

/// Assembles the settings of a command.
pub(crate) fn load(args: &ConfigArgs) -> anyhow::Result<Loaded> {
    load_over(&[], args)
}

/// Like [`load`], over settings of the command itself.
pub(crate) fn load_over(beneath: &[Layer], args: &ConfigArgs) -> anyhow::Result<Loaded> {
    Ok(problems_of(beneath, args).map_err(Failure::Config)?)
}

/// Files named with and without `--config`, in that order.
fn all(args: &ConfigFileArgs) -> ConfigArgs {
    let mut config = args.config.clone();
    config.files.extend(args.positional.iter().cloned());
    config
}

/// Reads every layer, also behind one that cannot be read, so that all problems come out at once.
fn problems_of(beneath: &[Layer], args: &ConfigArgs) -> Result<Loaded, Vec<Problem>> {
    let mut layers = beneath.to_vec();
    let mut unreadable = Vec::new();
    for path in &args.files {
        tracing::debug!(path = %path.display(), "reading config file");
        match Layer::read(path) {
            Ok(layer) => layers.push(layer),
            Err(problem) => unreadable.push(problem),
        }
    }
    layers.extend(args.set.iter().map(|argument| Layer::Set { argument: argument.clone() }));
    let loaded = whetstone_config::load(&layers);
    if unreadable.is_empty() {
        return loaded;
    }
    unreadable.extend(loaded.err().unwrap_or_default());
    Err(unreadable)
}
