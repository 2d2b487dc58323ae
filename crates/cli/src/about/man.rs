//! `whet man`: one manual page for each command.
//!
//! `clap_mangen` writes the sections that come from arguments. It would fill examples and diagrams into one paragraph,
//! so the description and what follows the help are written here, with indented lines as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use whetstone_recipe::text::counted;

use super::visible;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::version;

/// `whet man`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  whet man | man -l -                       read the main page
  whet man --out ~/.local/share/man/man1    install all of them: then `man whet-train-grpo`

`install.sh` of a release installs them.")]
pub struct ManArgs {
    /// Write a page for every command into this folder, which is made if needed
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the main page, or writes all.
pub(crate) fn run(args: &ManArgs, printer: Printer) -> anyhow::Result<Exit> {
    let mut root = visible();
    root.build();
    let Some(folder) = &args.out else {
        printer.raw(&String::from_utf8(page(&root)?)?)?;
        return Ok(Exit::Done);
    };
    let failed = |source| Failure::io(format!("cannot write to `{}`", folder.display()), source);
    let count = fs::create_dir_all(folder).and_then(|()| write(&root, folder)).map_err(failed)?;
    printer.data(folder.display())?;
    printer.note(counted(count, "page"));
    Ok(Exit::Done)
}

/// Writes the page of a command and those of its subcommands.
fn write(command: &Command, folder: &Path) -> io::Result<usize> {
    let name = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
    fs::write(folder.join(name), page(command)?)?;
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    inner.map(|inner| write(inner, folder)).try_fold(1, |all, written| Ok(all + written?))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .date(version::date())
        .source(concat!("whet ", env!("CARGO_PKG_VERSION")))
        .manual("Whetstone");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        section("DESCRIPTION", &about.to_string()).to_writer(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    if let Some(after) = after {
        for (heading, text) in parts(&after.to_string()) {
            section(heading, &text).to_writer(&mut page)?;
        }
    }
    Ok(page)
}

/// What follows the help, under the headings that manual pages have.
fn parts(after: &str) -> Vec<(&'static str, String)> {
    let mut parts = vec![("NOTES", String::new())];
    for line in after.lines() {
        let (heading, line) = match line.strip_prefix("Exit codes: ") {
            Some(codes) => (Some("EXIT STATUS"), codes),
            None if line == "Examples:" => (Some("EXAMPLES"), ""),
            None => (None, line),
        };
        parts.extend(heading.map(|heading| (heading, String::new())));
        if let Some((_, text)) = parts.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    let trimmed =
        parts.into_iter().map(|(heading, text)| (heading, text.trim_matches('\n').to_owned()));
    trimmed.filter(|(_, text)| !text.is_empty()).collect()
}

/// A section: prose is filled, indented lines stay as they are.
fn section(heading: &str, text: &str) -> Roff {
    let mut roff = Roff::default();
    roff.control("SH", [heading]);
    let mut verbatim = false;
    for line in text.lines() {
        let indented = line.starts_with(' ');
        if indented != verbatim && !line.is_empty() {
            roff.control(if indented { "nf" } else { "fi" }, []);
            verbatim = indented;
        }
        match line {
            "" => roff.control("PP", []),
            line => roff.text([roman(line)]),
        };
    }
    if verbatim {
        roff.control("fi", []);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_help_is_sorted_under_headings() {
        let after = "Of it.\n\nExamples:\n  whet x\n\nMore.\nExit codes: 0 done,\n1 no.";
        let expected = [
            ("NOTES", "Of it."),
            ("EXAMPLES", "  whet x\n\nMore."),
            ("EXIT STATUS", "0 done,\n1 no."),
        ];
        assert_eq!(parts(after), expected.map(|(heading, text)| (heading, text.to_owned())));
    }

    #[test]
    fn prose_is_filled_and_examples_stay_as_they_are() {
        let page = section("NOTES", "One.\nTwo.\n\n  whet -x\n  .dot\nThree.").to_roff();
        let expected = ".SH NOTES\nOne.\nTwo.\n.PP\n.nf\n  whet \\-x\n  .dot\n.fi\nThree.\n";
        assert_eq!(page, expected);
    }
}
