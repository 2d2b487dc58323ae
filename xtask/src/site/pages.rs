//! The pages of the docs site, in the order in which somebody reads who is new.
//!
//! Tidy refuses a page that is missing here. The titles come from the pages.

use std::fmt::Write;

use super::links::title;

/// This file, for messages.
pub const HERE: &str = "xtask/src/site/pages.rs";

/// The decisions are listed by their numbers.
const DECISIONS: &str = "docs/adr/";

/// A part of the table of contents.
#[derive(Debug)]
pub struct Section {
    /// Its heading; the first has none.
    pub name: &'static str,
    /// Its pages; what ends in `/` is all of a folder, by name, behind the README.md of the folder.
    pub pages: &'static [&'static str],
}

/// Every part, in order.
pub const SECTIONS: &[Section] = &[
    Section { name: "", pages: &["README.md", "README.zh-CN.md"] },
    Section {
        name: "Start",
        pages: &["docs/guides/install.md", "docs/guides/first-run.md", "docs/guides/stages.md"],
    },
    Section {
        name: "Prepare data",
        pages: &[
            "docs/guides/write-tasks.md",
            "docs/guides/prompts.md",
            "docs/guides/teacher.md",
            "docs/guides/score.md",
            "docs/guides/preference-pairs.md",
        ],
    },
    Section {
        name: "Train",
        pages: &[
            "docs/guides/train-your-own-model.md",
            "docs/guides/real-run.md",
            "docs/guides/algorithms.md",
            "docs/guides/rewards.md",
            "docs/guides/learn-from-a-file.md",
            "docs/guides/distill.md",
            "docs/guides/reward-models.md",
            "docs/guides/process-rewards.md",
            "docs/guides/ppo.md",
        ],
    },
    Section {
        name: "Measure and look",
        pages: &["docs/guides/measure.md", "docs/guides/look.md", "docs/guides/alarms.md"],
    },
    Section {
        name: "Environments",
        pages: &[
            "docs/guides/solver.md",
            "docs/guides/phaser.md",
            "docs/guides/add-an-environment.md",
            "docs/guides/add-a-reward.md",
        ],
    },
    Section {
        name: "Reference",
        pages: &[
            "docs/reference/config.md",
            "docs/reference/formats.md",
            "docs/reference/metrics.md",
            "docs/reference/phaser-checks.md",
            "docs/reference/glossary.md",
            "CHANGELOG.md",
        ],
    },
    Section {
        name: "Contribute",
        pages: &[
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "STYLE.md",
            "SECURITY.md",
            "docs/experiments.md",
            "docs/dependencies.md",
        ],
    },
    Section { name: "Decisions", pages: &[DECISIONS] },
];

/// The part in which a page stands.
pub fn section_of(page: &str) -> Option<&'static Section> {
    let holds = |entry: &&str| *entry == page || (entry.ends_with('/') && page.starts_with(*entry));
    SECTIONS.iter().find(|section| section.pages.iter().any(&holds))
}

/// A page as it is staged.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// Its path from the root of the repository.
    pub(super) path: String,
    /// Its text.
    pub(super) text: String,
}

/// The table of contents of these pages; `files` stand behind them under a heading of their own.
pub(super) fn summary(pages: &[Page], files: &[Page]) -> String {
    let mut text = "# Summary\n".to_owned();
    for section in SECTIONS {
        let inside =
            |page: &&Page| section_of(&page.path).is_some_and(|own| own.name == section.name);
        add(&mut text, section.name, pages.iter().filter(inside));
    }
    if !files.is_empty() {
        add(&mut text, "Files of the repository", files.iter());
    }
    text
}

/// Chapters before the first part are not items of a list.
fn add<'a>(text: &mut String, name: &str, pages: impl Iterator<Item = &'a Page>) {
    let mark = if name.is_empty() { "" } else { "- " };
    if !name.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n# {name}\n\n");
    }
    for page in pages {
        let title = match page.path.as_str() {
            "README.zh-CN.md" => "中文".to_owned(),
            path => title(&page.text).unwrap_or_else(|| path.to_owned()),
        };
        let _ = writeln!(text, "{mark}[{title}]({})", page.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_table_is_there_once() {
        let root = crate::root();
        let all: Vec<&str> = SECTIONS.iter().flat_map(|section| section.pages).copied().collect();
        for (at, page) in all.iter().enumerate() {
            assert!(root.join(page).exists(), "{page} of {HERE} is not there");
            assert!(!all[..at].contains(page), "{page} stands twice in {HERE}");
        }
    }

    #[test]
    fn the_summary_has_parts_titles_and_files() {
        let page = |path: &str, text: &str| Page { path: path.to_owned(), text: text.to_owned() };
        let pages = [page("README.md", "# Front\n"), page("docs/adr/0001-a.md", "# `A` first\n")];
        let text = summary(&pages, &[page("LICENSE.md", "# LICENSE\n")]);
        assert!(text.starts_with("# Summary\n[Front](README.md)\n\n# Start\n"), "{text}");
        assert!(text.contains("\n# Decisions\n\n- [A first](docs/adr/0001-a.md)\n"), "{text}");
        assert!(
            text.ends_with("\n# Files of the repository\n\n- [LICENSE](LICENSE.md)\n"),
            "{text}"
        );
    }

    #[test]
    fn a_page_that_is_not_in_the_table_has_no_section() {
        assert!(section_of("docs/guides/new.md").is_none());
        assert_eq!(section_of("docs/adr/0001-a.md").map(|section| section.name), Some("Decisions"));
    }
}
