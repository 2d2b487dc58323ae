//! `whet config show|check|reference`.

use schemars::schema_for;
use whetstone_config::{CheckedConfig, Loaded, ReferencePart, Sources};
use whetstone_core::config::Config;
use whetstone_recipe::text::counted;

use crate::cli::{ConfigArgs, ConfigFileArgs, ReferenceArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};

/// `whet config show`.
pub(crate) fn show(args: &ConfigFileArgs, printer: Printer) -> anyhow::Result<Exit> {
    let loaded = all(args).load(&[]).map_err(Failure::Config)?;
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
    let answer = CheckedConfig::of(all(args).load(&[]));
    if args.json {
        printer.json(&answer)?;
    } else {
        print(&answer, printer)?;
    }
    Ok(if answer.ok { Exit::Done } else { Exit::Usage })
}

/// Prints the problems of a config.
fn print(answer: &CheckedConfig, printer: Printer) -> anyhow::Result<()> {
    let warning = printer.toned("warning", Tone::Doubtful);
    for problem in &answer.warnings {
        printer.data(format_args!("{warning}: {problem}"))?;
    }
    for problem in &answer.problems {
        printer.data(problem)?;
    }
    let (word, tone) = if answer.ok { ("ok", Tone::Good) } else { ("error", Tone::Bad) };
    let word = printer.toned_talk(word, tone);
    let refused = answer.refused_by.map(|command| format!(", but `{command}` refuses it"));
    let refused = refused.unwrap_or_default();
    let count = counted(answer.problems.len(), "problem");
    printer.note(format_args!("{word}: the config has {count}{refused}"));
    Ok(())
}

/// `whet config reference`: the whole page, or the part that is asked for.
pub(crate) fn reference(args: &ReferenceArgs, printer: Printer) -> anyhow::Result<Exit> {
    if let Some(key) = &args.key {
        let part = ReferencePart::find(key)
            .map_err(|hint| Failure::UnknownKey { key: key.clone(), hint })?;
        if args.json {
            printer.json(&part.schema)?;
        } else {
            printer.raw(&part.text)?;
        }
    } else if args.json {
        printer.json(&schema_for!(Config))?;
    } else {
        printer.raw(&whetstone_config::reference())?;
    }
    Ok(Exit::Done)
}

/// Assembles the settings of a command.
pub(crate) fn load(args: &ConfigArgs) -> Result<Loaded, Failure> {
    args.sources().load(&[]).map_err(Failure::Config)
}

/// Files named with and without `--config`, in that order.
fn all(args: &ConfigFileArgs) -> Sources {
    let mut config = args.config.clone();
    config.files.extend(args.positional.iter().cloned());
    config.sources()
}
