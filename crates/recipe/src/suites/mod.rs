//! Suites: published tasks with the prompt, the shown tests and the settings that their figures are
//! published with, under one name (`humaneval`, `mbpp:plain`).
//!
//! A suite is a row of [`table`]. Its settings are a layer beneath everything that the user sets, so
//! `--temperature` and `--set` win. What it fixes is the tasks: the rows of the published file, their
//! half, and which tests a prompt may show.
//!
//! Not here: prompts themselves, which `prompt.template` names.

mod read;
mod table;

use std::path::PathBuf;

use whetstone_config::Layer;
use whetstone_data::source::{DataSet, MbppTests, MbppVariant};

use crate::datasets::Published;

pub use self::table::SUITES;

/// The tasks of a suite, in the directory of its evaluation.
pub const SUITE_TASKS: &str = "tasks.jsonl";

/// Published tasks, and how they are asked and sampled.
#[derive(Debug, PartialEq, Eq)]
pub struct Suite {
    /// The name of the tasks.
    pub name: &'static str,
    /// The name of the prompt and what belongs to it.
    pub variant: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// The tasks.
    tasks: SuiteTasks,
    /// Tests of MBPP that are shown and judged by.
    mbpp: MbppTests,
    /// Keys and values, as `--set` takes them.
    settings: &'static [(&'static str, &'static str)],
}

/// The tasks of a suite among the rows of a published file.
#[derive(Debug, PartialEq, Eq)]
struct SuiteTasks {
    set: DataSet,
    /// The publication of MBPP.
    mbpp: Option<MbppVariant>,
    /// The first and the last number of a task.
    numbers: (u64, u64),
    /// Numbers between them that are left out.
    without: &'static [u64],
    /// Tasks that there are.
    count: usize,
    /// The published file on the hub.
    hub: &'static Published,
    /// Its name as its authors publish it.
    file: &'static str,
}

/// A suite, and the file that its tasks are read from.
#[derive(Debug, Clone)]
pub struct SuiteRequest {
    /// The suite.
    pub suite: &'static Suite,
    /// The published file or a folder of such files; from the hub if absent.
    pub file: Option<PathBuf>,
}

impl Suite {
    /// The suite of a name: `mbpp`, which is its first variant, or `mbpp:plain`.
    ///
    /// # Errors
    ///
    /// If there is none, with all that there are.
    pub fn named(text: &str) -> Result<&'static Self, String> {
        let (name, variant) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let of_name = || SUITES.iter().filter(|suite| suite.name == name);
        let found = of_name().find(|suite| variant.is_none_or(|wanted| wanted == suite.variant));
        found.ok_or_else(|| {
            let near: Vec<String> = of_name().map(Self::full_name).collect();
            let all = || SUITES.iter().map(Self::full_name).collect();
            let known: Vec<String> = if near.is_empty() { all() } else { near };
            format!("there is no such suite; there are {}", known.join(", "))
        })
    }

    /// Its name with the variant.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.name, self.variant)
    }

    /// Its settings, to be loaded beneath the user's.
    pub fn layers(&self) -> Vec<Layer> {
        let layer = |(key, value): &(&str, &str)| Layer::Suite {
            name: self.full_name(),
            argument: format!("{key}={value}"),
        };
        self.settings.iter().map(layer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        Suite::named(text).map_or_else(|problem| problem, Suite::full_name)
    }

    #[test]
    fn a_name_alone_is_its_first_variant() {
        assert_eq!(named("humaneval"), "humaneval:evalplus");
        assert_eq!(named("humaneval:completion"), "humaneval:completion");
        assert_eq!(named("mbpp"), "mbpp:mbpp");
        assert_eq!(named("mbpp-sanitized"), "mbpp-sanitized:evalplus");
        assert_eq!(
            named("humaneval:mbpp"),
            "there is no such suite; there are humaneval:evalplus, humaneval:qwen, \
             humaneval:plain, humaneval:completion"
        );
        assert!(named("human-eval").contains("mbpp-sanitized:plain"), "{}", named("human-eval"));
        assert!(named("").starts_with("there is no such suite"));
    }

    #[test]
    fn settings_lie_beneath_those_of_the_user() {
        let suite = Suite::named("humaneval").unwrap();
        let set = |argument: &str| Layer::Set { argument: argument.to_owned() };
        let alone = whetstone_config::load(&suite.layers()).unwrap().config;
        assert_eq!((alone.eval.num_samples, alone.eval.temperature), (1, 0.0));
        assert_eq!(alone.grpo.max_completion_length, 1024);
        let over = [suite.layers(), vec![set("eval.temperature=0.8"), set("eval.num_samples=20")]];
        let over = whetstone_config::load(&over.concat()).unwrap().config;
        assert_eq!((over.eval.num_samples, over.eval.temperature), (20, 0.8));
    }

    #[test]
    fn a_setting_that_contradicts_the_suite_is_named_with_it() {
        let suite = Suite::named("humaneval").unwrap();
        let k = Layer::Set { argument: "eval.k=[10]".to_owned() };
        let problems = whetstone_config::load(&[suite.layers(), vec![k]].concat()).unwrap_err();
        let said = problems[0].to_string();
        assert!(said.contains("eval.k"), "{said}");
        let samples =
            Layer::Suite { name: "s".to_owned(), argument: "eval.num_samples=x".to_owned() };
        let said = whetstone_config::load(&[samples]).unwrap_err()[0].to_string();
        assert!(said.starts_with("--suite s: `eval.num_samples`: "), "{said}");
    }
}
