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
    #[derive(Serialize)]
    struct Report<'a> {
        ok: bool,
        problems: &'a [Problem],
        warnings: &'a [Problem],
        /// The command that refuses the config, though it has no problems.
        refused_by: Option<&'static str>,
    }
    let mut refused_by = None;
    let (problems, warnings) = match problems_of(&[], &all(args)) {
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
    let ok = problems.is_empty();
    if args.json {
        let (problems, warnings) = (&problems, &warnings);
        printer.json(&Report { ok, problems, warnings, refused_by })?;
    } else {
        for warning in &warnings {
            printer
                .data(format_args!("{}: {warning}", printer.toned("warning", Tone::Doubtful)))?;
        }
        for problem in &problems {
            printer.data(problem)?;
        }
        let (word, tone) = if ok { ("ok", Tone::Good) } else { ("error", Tone::Bad) };
        let word = printer.toned_talk(word, tone);
        let refused = refused_by.map(|command| format!(", but `{command}` refuses it"));
        let refused = refused.unwrap_or_default();
        let count = counted(problems.len(), "problem");
        printer.note(format_args!("{word}: the config has {count}{refused}"));
    }
    Ok(if ok { Exit::Done } else { Exit::Usage })
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
