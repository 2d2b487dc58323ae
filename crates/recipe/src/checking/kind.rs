//! The kinds of files that `whet` reads: their names, the command that makes them, and a line of each.

use std::path::Path;

use serde::Serialize;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// Tasks.
    Tasks,
    /// A teacher's traces.
    Traces,
    /// SFT rows.
    Rows,
    /// Rollouts before scoring.
    Rollouts,
    /// Rollouts with their scores.
    Scored,
    /// Lines that scoring set aside.
    Rejected,
    /// Preference pairs in our format.
    Pairs,
    /// Preference pairs in a form of other tools.
    OtherPairs,
    /// Prompt seeds for Phaser.
    PromptSeeds,
    /// The events of a run.
    Events,
    /// The results of an evaluation.
    Results,
    /// Settings.
    Settings,
    /// Stages of `whet run`.
    Stages,
}

/// A kind's names and texts.
struct About {
    kind: FileKind,
    /// Its name on the command line.
    name: &'static str,
    /// Its lines, in a sentence.
    title: &'static str,
    /// The command that makes such a file.
    made_by: &'static str,
    /// A line that is right; empty for files that are read whole.
    line: &'static str,
    /// Words in the names of such files.
    words: &'static [&'static str],
}

impl FileKind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|about| about.kind)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The contents of such a file, as a person says them.
    pub fn title(self) -> &'static str {
        self.about().title
    }

    /// The command that makes such a file.
    pub fn made_by(self) -> &'static str {
        self.about().made_by
    }

    /// A line that is right, if the file has lines.
    pub fn good_line(self) -> Option<&'static str> {
        Some(self.about().line).filter(|line| !line.is_empty())
    }

    /// The kind of the name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The kind that a file of this name probably has.
    pub fn by_file_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_lowercase();
        let has = |kind: &Self| kind.about().words.iter().any(|word| name.contains(word));
        Self::all().find(has)
    }

    /// Whether readers refuse a file in which an id stands twice.
    pub(super) fn has_unique_ids(self) -> bool {
        matches!(self, Self::Tasks | Self::Pairs | Self::PromptSeeds)
    }

    /// Whether a reader of the whole file is needed, because lines do not stand alone.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Events | Self::Results | Self::Settings | Self::Stages)
    }

    fn about(self) -> &'static About {
        KINDS.iter().find(|about| about.kind == self).expect("every kind is in the table")
    }
}

/// Every kind, with what is said of it. Where a missing file is guessed by its name, earlier ones come first.
const KINDS: [About; 13] = [
    About {
        kind: FileKind::Rejected,
        name: "rejected",
        title: "lines that `whet score` set aside",
        made_by: "`whet score` makes such a file where lines of its input are no rollouts",
        line: "",
        words: &["rejected"],
    },
    About {
        kind: FileKind::Scored,
        name: "scored",
        title: "scored rollouts",
        made_by: "`whet score ROLLOUTS --prompts TASKS` makes such a file",
        line: "",
        words: &["scored"],
    },
    About {
        kind: FileKind::Traces,
        name: "traces",
        title: "a teacher's traces",
        made_by: "`whet teach` makes `data/teacher_traces.jsonl`",
        line: r#"{"task_id":"mine/1","sample":0,"prompt":"…","text":"…","model":"…"}"#,
        words: &["trace"],
    },
    About {
        kind: FileKind::Rows,
        name: "rows",
        title: "SFT rows",
        made_by: "`whet teach --rows FILE` makes such a file",
        line: r#"{"instruction":"…","input":"…","output":"…"}"#,
        words: &["row", "sft", "alpaca"],
    },
    About {
        kind: FileKind::PromptSeeds,
        name: "prompt-seeds",
        title: "prompt seeds for Phaser",
        made_by: "you write it (`whet data prompts --help`); without one `whet data prompts` takes embedded seeds",
        line: r#"{"id":"seed_1","prompt":"…","checks":[{"kind":"count","select":{"type":["text"]},"at_least":1}]}"#,
        words: &["seed"],
    },
    About {
        kind: FileKind::Pairs,
        name: "pairs",
        title: "preference pairs",
        made_by: "`whet data pairs` makes `data/pairs.jsonl`",
        line: r#"{"id":"mine/1:0-3","prompt":[{"role":"user","content":"…"}],"chosen":"a better reply","rejected":"a worse reply"}"#,
        words: &["pair", "preference"],
    },
    About {
        kind: FileKind::OtherPairs,
        name: "other-pairs",
        title: "preference pairs in a form of other tools",
        made_by: "it comes from the hub; `whet data pairs --pairs FILE` reads it",
        line: r#"{"prompt":"Why?","chosen":"Because of rain.","rejected":"No."}"#,
        words: &["dpo"],
    },
    About {
        kind: FileKind::Events,
        name: "events",
        title: "the events of a run",
        made_by: "`whet train` and `whet quickstart` write `events.jsonl` into a run",
        line: "",
        words: &["event"],
    },
    About {
        kind: FileKind::Results,
        name: "results",
        title: "the results of an evaluation",
        made_by: "`whet eval` makes `evaluation_results.json`",
        line: "",
        words: &["result"],
    },
    About {
        kind: FileKind::Rollouts,
        name: "rollouts",
        title: "rollouts, not scored",
        made_by: "`whet rollout` makes such a file, of a model or of mock replies",
        line: r#"{"step":0,"prompt_id":"mine/1","text":"…"}"#,
        words: &["rollout", "sample", "completion", "repl"],
    },
    About {
        kind: FileKind::Tasks,
        name: "tasks",
        title: "tasks",
        made_by: "`whet data prepare` makes `data/train.jsonl`, `data/dev.jsonl` and `data/val.jsonl`",
        line: r#"{"id":"mine/1","statement":"Write a function add(a, b).","tests":["assert add(1, 2) == 3"]}"#,
        words: &["task", "train", "dev", "val", "test"],
    },
    About {
        kind: FileKind::Settings,
        name: "settings",
        title: "settings",
        made_by: "`whet config show > FILE` makes such a file",
        line: "",
        words: &[".toml"],
    },
    About {
        kind: FileKind::Stages,
        name: "stages",
        title: "stages of `whet run`",
        made_by: "you write it: docs/guides/stages.md",
        line: "",
        words: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name() {
        for kind in FileKind::all() {
            assert_eq!(FileKind::named(kind.name()), Some(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()), "one name everywhere");
        }
        assert_eq!(FileKind::named("task"), None);
    }

    #[test]
    fn a_missing_file_is_known_by_its_name() {
        let of = |name: &str| FileKind::by_file_name(Path::new(name));
        for (name, kind) in [
            ("data/train.jsonl", Some(FileKind::Tasks)),
            ("data/teacher_traces.jsonl", Some(FileKind::Traces)),
            ("out.scored.jsonl", Some(FileKind::Scored)),
            ("out.scored.jsonl.rejected.jsonl", Some(FileKind::Rejected)),
            ("rollouts.jsonl", Some(FileKind::Rollouts)),
            ("pairs_val.jsonl", Some(FileKind::Pairs)),
            ("evaluation_results.json", Some(FileKind::Results)),
            ("my.toml", Some(FileKind::Settings)),
            ("notes.txt", None),
        ] {
            assert_eq!(of(name), kind, "{name}");
        }
    }
}
