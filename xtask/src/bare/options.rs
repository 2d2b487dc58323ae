//! The arguments of `cargo xtask bare`.

use std::path::{Path, PathBuf};

/// The text of `cargo xtask bare --help`.
pub(super) const HELP: &str = "\
Usage: cargo xtask bare [PARTS] [--dir DIR] [--keep]

Parts, all of them by default:
  --wheel       only python3: pip install of the wheel, whet doctor, whet quickstart
  --container   the steps of the Containerfile, without a container engine
  --quickstart  from source: cargo run --release -- quickstart
  --ci          from source: cargo xtask ci

  --dir DIR     where the systems are made, removed first if it is there [target/bare]
  --keep        leaves the systems in place

The first two need the files of `cargo xtask dist`. It takes root, debootstrap, util-linux and git; from source
15 GB of disk and an hour on two cores. Exit codes: 0 all parts passed, 1 one did not, 2 it cannot run here.";

/// A part of the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The wheel where there is only python3.
    Wheel,
    /// The steps of the Containerfile.
    Container,
    /// The first command of the README.
    Quickstart,
    /// The second command of the README.
    Ci,
}

const PARTS: [(&str, Part); 4] = [
    ("--wheel", Part::Wheel),
    ("--container", Part::Container),
    ("--quickstart", Part::Quickstart),
    ("--ci", Part::Ci),
];

/// What is left afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing of a part that passed.
    Nothing,
    /// Every system.
    Systems,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The parts to run.
    pub(super) parts: Vec<Part>,
    /// Where systems are made.
    pub(super) folder: PathBuf,
    /// Whether they stay.
    pub(super) keep: Keep,
}

impl Options {
    /// Reads the arguments.
    pub(super) fn parse(root: &Path, words: &[&str]) -> Result<Self, String> {
        let mut options =
            Self { parts: Vec::new(), folder: root.join("target/bare"), keep: Keep::Nothing };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match (word, PARTS.iter().find(|(name, _)| *name == word)) {
                (_, Some((_, part))) => options.parts.push(*part),
                ("--keep", _) => options.keep = Keep::Systems,
                ("--dir", _) => {
                    let folder = words.next().ok_or("--dir needs a folder")?;
                    options.folder = PathBuf::from(folder);
                }
                _ => return Err(format!("`bare` has no option `{word}`\n\n{HELP}")),
            }
        }
        if options.parts.is_empty() {
            options.parts = PARTS.map(|(_, part)| part).to_vec();
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, String> {
        Options::parse(Path::new("/a"), words)
    }

    #[test]
    fn no_part_means_all_of_them() {
        let options = parse(&["--keep"]).unwrap();
        assert_eq!(options.parts, [Part::Wheel, Part::Container, Part::Quickstart, Part::Ci]);
        assert_eq!(
            (options.folder, options.keep),
            (PathBuf::from("/a/target/bare"), Keep::Systems)
        );
    }

    #[test]
    fn parts_and_folder_are_taken_as_given() {
        let options = parse(&["--ci", "--dir", "/b", "--wheel"]).unwrap();
        assert_eq!(options.parts, [Part::Ci, Part::Wheel]);
        assert_eq!((options.folder, options.keep), (PathBuf::from("/b"), Keep::Nothing));
    }

    #[test]
    fn every_part_is_in_the_help_and_other_words_are_answered_with_it() {
        for (name, _) in PARTS {
            assert!(HELP.contains(&format!("\n  {name} ")), "{name}");
        }
        assert!(parse(&["--fast"]).unwrap_err().starts_with("`bare` has no option `--fast`"));
        assert_eq!(parse(&["--dir"]).unwrap_err(), "--dir needs a folder");
    }
}
