//! `cargo xtask site`: the documents of the repository as a site, in `target/site`.
//!
//! The pages are the Markdown files that are read in the repository too; [`pages`] has their order, [`stage`] copies
//! them, mdBook makes HTML of them, and [`check`] reads the result: no link is dead, and no page loads anything from
//! another host. It opens from the disk, search included.

mod check;
mod html;
pub(crate) mod links;
pub mod pages;
mod stage;
mod tool;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use tool::Missing;

/// The line of help.
pub const WHAT: &str =
    "the documents as a site in target/site, links checked [--no-install | --check]";

const USAGE: &str = "\
usage: cargo xtask site [--no-install | --check]

  --no-install  fails where there is no mdBook instead of building it
  --check       checks the site that is in target/site, and builds nothing";

/// Settings and style of the book, beside its pages.
const BOOK: [(&str, &str); 2] = [
    ("book.toml", include_str!("../../site/book.toml")),
    ("site.css", include_str!("../../site/site.css")),
];

/// Runs the command with its arguments; `Err` is what to tell the reader.
pub fn run(root: &Path, words: &[&str], out: &mut dyn Write) -> Result<(), String> {
    let built = root.join("target/site");
    match words {
        [] => build(root, Missing::Install, out)?,
        ["--no-install"] => build(root, Missing::Refuse, out)?,
        ["--check"] => {}
        _ => return Err(USAGE.to_owned()),
    }
    let checked = check::check(&built)?;
    let (pages, links) = (checked.pages, checked.links);
    say(out, &format!("{pages} pages, {links} links inside the site: all of them lead somewhere"))?;
    say(out, &format!("open {}", built.join("index.html").display()))
}

fn build(root: &Path, missing: Missing, out: &mut dyn Write) -> Result<(), String> {
    let book = root.join("target/site-src");
    let staged = stage::stage(root, &book.join("src"))?;
    for (name, text) in BOOK {
        let file = book.join(name);
        fs::write(&file, text).map_err(|err| format!("cannot write {}: {err}", file.display()))?;
    }
    let files = staged.files.len();
    say(out, &format!("{} pages and {files} files that they link to", staged.pages))?;
    for path in &staged.named {
        say(out, &format!("`{path}` is not on the site: its links are plain text there"))?;
    }
    let mdbook = tool::find(root, missing, out)?;
    let status = Command::new(&mdbook)
        .arg("build")
        .arg(&book)
        .status()
        .map_err(|err| format!("cannot start {}: {err}", mdbook.display()))?;
    if status.success() { Ok(()) } else { Err(format!("`mdbook build` ended with {status}")) }
}

fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").map_err(|err| err.to_string())
}
