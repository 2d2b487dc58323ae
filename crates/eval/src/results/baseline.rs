//! From evaluations with one greedy sample to baselines, and the best prompt of an evaluation.

use whetstone_rollout::measure::Tally;

use super::Results;
use crate::baseline::Baseline;
use crate::task_count::TaskCount;

/// The setting that says the name and the digest of a prompt.
const PROMPT: &str = "prompt";

/// The best prompt of an evaluation, with the greedy sample of each task.
pub(crate) struct BestPrompt {
    pub(crate) prompt: String,
    pub(crate) tallies: Vec<Tally>,
}

impl Baseline {
    /// The baseline that an evaluation with one greedy sample a task measured; none if no task could be judged.
    pub fn of(results: Results, template: &str) -> Option<Self> {
        let Results { pass_at_k, code, cut_off, mean_tokens, mut by_task, settings, .. } = results;
        // Figures of these programs are compared nowhere.
        for task in &mut by_task {
            task.figures.clear();
        }
        let template = template.to_owned();
        let prompt = settings.get(PROMPT).cloned().unwrap_or_default();
        let greedy = *pass_at_k.get(&1)?;
        Some(Self { template, file: None, prompt, greedy, code, cut_off, mean_tokens, by_task })
    }
}

impl Results {
    /// The prompt with the highest greedy pass@1: that of the evaluation, or one of its baselines.
    pub(crate) fn best_prompt(&self) -> Option<BestPrompt> {
        let best = Baseline::best(&self.baseline_prompts)?;
        let is_own = self.greedy.is_some_and(|own| own.value >= best.greedy.value);
        Some(if is_own {
            BestPrompt {
                prompt: self.settings.get(PROMPT).cloned().unwrap_or_default(),
                tallies: self.by_task.iter().map(TaskCount::greedy_tally).collect(),
            }
        } else {
            BestPrompt {
                prompt: best.prompt.clone(),
                tallies: best.by_task.iter().map(TaskCount::tally).collect(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use whetstone_core::task::TaskId;

    use super::*;
    use crate::estimate::Estimate;

    fn at(value: f64) -> Estimate {
        Estimate { value, low: 0.0, high: 1.0, tasks: 2, left_out: 0 }
    }

    fn count(name: &str, passed: u64) -> TaskCount {
        let id = TaskId::try_from(name.to_owned()).unwrap();
        TaskCount { samples: 1, passed, ..TaskCount::none(&id) }
    }

    fn baseline(prompt: &str, passed: [u64; 2]) -> Baseline {
        let [first, second] = passed.map(|passed| if passed > 0 { 1.0 } else { 0.0 });
        let value = f64::midpoint(first, second);
        let results = Results {
            pass_at_k: BTreeMap::from([(1, at(value))]),
            by_task: vec![count("a", passed[0]), count("b", passed[1])],
            settings: BTreeMap::from([(PROMPT.to_owned(), prompt.to_owned())]),
            ..Results::default()
        };
        Baseline::of(results, "plain").unwrap()
    }

    #[test]
    fn the_best_prompt_may_be_a_baseline_or_that_of_the_evaluation() {
        let mut results = Results { greedy: Some(at(0.25)), ..Results::default() };
        assert!(results.best_prompt().is_none(), "nothing was measured beside it");
        results.settings.insert(PROMPT.to_owned(), "unified-1".to_owned());
        results.by_task = vec![TaskCount { greedy: Some(true), ..count("a", 0) }];
        results.baseline_prompts =
            vec![baseline("plain-1", [0, 0]), baseline("evalplus-1", [1, 0])];
        let best = results.best_prompt().unwrap();
        assert_eq!(best.prompt, "evalplus-1");
        assert_eq!(best.tallies.iter().map(|task| task.passed).collect::<Vec<_>>(), [1, 0]);
        results.greedy = Some(at(0.5));
        let own = results.best_prompt().unwrap();
        assert_eq!((own.prompt.as_str(), own.tallies[0].passed), ("unified-1", 1));
    }

    #[test]
    fn results_without_pass_at_1_are_no_baseline() {
        assert_eq!(Baseline::of(Results::default(), "plain-1"), None);
    }
}
