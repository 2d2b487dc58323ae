//! Self-SFT: the student's own best answers of a step, which it is fine-tuned on.
//!
//! Taken over the whole step: one of each task, of the tasks with the lowest pass rate first, since a rare
//! success is the one worth repeating and on a task that is always solved there is nothing to learn; then
//! the second of each task, and so on. Within a task the highest rewards come first. Of rollouts with the
//! same program one is taken, so that a frequent answer does not count for more.

use std::collections::BTreeSet;

use whetstone_core::completion::Finish;
use whetstone_core::config::Config;
use whetstone_core::extract::{Form, Reply, Response, extract};
use whetstone_data::rows::Tokens;
use whetstone_rollout::collect::{Group, Rollout, Turn};

use crate::example::Example;
use crate::rollouts::sequences::sampled_sequences;
use crate::rollouts::values::number;
use crate::rows::Ending;
use crate::student::Student;

/// The best `count` rollouts that pass. One that the length limit cut off is none: it would
/// teach not to come to an end.
pub(super) fn best(groups: &[Group], count: usize) -> impl Iterator<Item = &Rollout> {
    let mut candidates: Vec<Candidate<'_>> = groups.iter().flat_map(of_group).collect();
    // Of equals the first that was sampled.
    let by_rate = |a: &Candidate<'_>, b: &Candidate<'_>| a.pass_rate.total_cmp(&b.pass_rate);
    candidates.sort_by(|a, b| a.rank.cmp(&b.rank).then(by_rate(a, b)));
    candidates.into_iter().take(count).map(|candidate| candidate.rollout)
}

/// A rollout that passes, with what decides when it is taken.
struct Candidate<'a> {
    rollout: &'a Rollout,
    /// How many of its task come before it.
    rank: usize,
    /// The part of its group that passes.
    pass_rate: f64,
}

/// The rollouts of a group that pass and are whole, each program once, the best first.
fn of_group(group: &Group) -> Vec<Candidate<'_>> {
    let passed = group.rollouts.iter().filter(|rollout| passes(rollout));
    let pass_rate = number(passed.clone().count()) / number(group.rollouts.len().max(1));
    let mut whole: Vec<&Rollout> = passed.filter(|rollout| !is_cut(rollout)).collect();
    let worth = |rollout: &Rollout| rollout.outcome.reward.total();
    whole.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let mut seen = BTreeSet::new();
    whole.retain(|rollout| seen.insert(program(rollout)));
    let candidate = |(rank, rollout)| Candidate { rollout, rank, pass_rate };
    whole.into_iter().enumerate().map(candidate).collect()
}

/// A rollout as rows: as it was said; or without its thinking, if the settings leave that out.
pub(super) fn rows(student: &Student, config: &Config, rollout: &Rollout) -> Vec<Example> {
    if !config.training.include_thinking {
        return answers(student, rollout);
    }
    let sequences = sampled_sequences(rollout.turns.iter().enumerate());
    sequences.into_iter().map(|sequence| sequence.example).collect()
}

/// A rollout without its thinking: the code alone, behind the prompt as it was seen. A turn whose code
/// cannot be laid out is left out.
fn answers(student: &Student, rollout: &Rollout) -> Vec<Example> {
    let Some(ending) = Ending::of(&student.model) else { return Vec::new() };
    let row = |turn: &Turn| {
        let form = Form::ThinkPython;
        let reply = Reply::of(&turn.completion).after(student.thinking_opened);
        let code = extract(reply, form).code?;
        let response = Response::new(form, "", code.source.trim_end()).ok()?;
        let opened = if student.thinking_opened { OPENED } else { "" };
        let mut answer = ending.encode(&response.render_answer_after(opened));
        answer.push(ending.end());
        Some(Example::new(&turn.prompt, &answer))
    };
    rollout.turns.iter().filter_map(row).collect()
}

/// How a prompt ends that opens the thinking.
const OPENED: &str = "<think>\n";

fn passes(rollout: &Rollout) -> bool {
    rollout.outcome.is_solved()
}

fn is_cut(rollout: &Rollout) -> bool {
    rollout.turns.iter().any(|turn| turn.completion.finish == Finish::Length)
}

/// The program of a rollout, to compare: its code, or all that it said last if none is found there. A program
/// that passes stands behind the closing tag, so it is found whether or not the prompt opened the thinking.
fn program(rollout: &Rollout) -> String {
    let Some(turn) = rollout.turns.last() else { return String::new() };
    let code = extract(Reply::of(&turn.completion), Form::ThinkPython).code;
    code.map_or_else(|| turn.completion.text.clone(), |code| code.source.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use whetstone_core::verdict::Verdict;
    use whetstone_model::tokenizer::SpecialTokens;

    use super::*;
    use crate::testing::{Said, group, rollout, rollout_as, settings, student};

    fn pass(sample: usize, id: u32, worth: f64) -> Rollout {
        rollout_as(sample, Said { ids: &[id], finish: Finish::Stop, verdict: Verdict::Pass, worth })
    }

    fn fail(sample: usize) -> Rollout {
        rollout_as(
            sample,
            Said {
                ids: &[6],
                finish: Finish::Stop,
                verdict: Verdict::Wrong { test: 0 },
                worth: 0.95,
            },
        )
    }

    fn found(groups: &[Group], count: usize) -> Vec<u32> {
        let ids = |turn: &Turn| turn.completion.tokens.as_ref().unwrap().ids()[0];
        best(groups, count).flat_map(|rollout| &rollout.turns).map(ids).collect()
    }

    #[test]
    fn rare_successes_come_first_and_every_task_before_the_second_of_one() {
        let solved = group("a", vec![pass(0, 7, 1.0), pass(1, 8, 0.9)]);
        let mixed = group("b", vec![pass(0, 9, 0.7), fail(1), pass(2, 10, 0.8)]);
        let rare = group("c", vec![fail(0), pass(1, 11, 0.6), fail(2), fail(3)]);
        let groups = [solved, mixed, rare];
        assert_eq!(found(&groups, 9), [11, 10, 7, 9, 8]);
        assert_eq!(found(&groups, 2), [11, 10], "of the step, not of each group");
        assert_eq!(found(&groups[..1], 1), [7], "always solved, and all there is");
        assert!(found(&[group("d", vec![fail(0), fail(1)])], 9).is_empty());
    }

    #[test]
    fn of_equal_programs_one_is_taken_whatever_was_thought() {
        let said = |sample, id, worth, text: &str| {
            let mut rollout = pass(sample, id, worth);
            rollout.turns[0].completion.text = text.to_owned();
            rollout
        };
        let groups = [group(
            "a",
            vec![
                said(0, 7, 0.8, "<think>One.</think>\n```python\nx = 1\n```"),
                said(1, 8, 0.9, "<think>Another.</think>\n```python\nx = 1\n```"),
                said(2, 9, 0.7, "<think>One.</think>\n```python\nx = 2\n```"),
                fail(3),
            ],
        )];
        assert_eq!(found(&groups, 9), [8, 9]);
    }

    #[test]
    fn an_answer_alone_is_the_code_behind_the_prompt_as_it_was_seen() {
        let mut config = settings();
        config.training.include_thinking = false;
        let (_dir, mut student) = student(&config);
        let mut rollout = pass(0, 7, 1.0);
        rollout.turns[0].completion.text = "<think>One.</think>\n```python\nx = 1\n```".to_owned();
        let groups = [group("a", vec![rollout, fail(1)])];
        let said = |student: &Student| {
            let rollout = best(&groups, 9).next().unwrap();
            let [row] = &rows(student, &config, rollout)[..] else { panic!("one answer") };
            assert_eq!(row.tokens[..row.first], [1, 2]);
            let (end, answer) = row.tokens[row.first..].split_last().unwrap();
            assert_eq!(Some(*end), student.model.tokenizer.eos());
            student.model.tokenizer.decode(answer, SpecialTokens::Shown).unwrap()
        };
        assert_eq!(said(&student), "```python\nx = 1\n```\n");
        student.thinking_opened = true;
        assert_eq!(said(&student), "\n</think>\n\n```python\nx = 1\n```\n", "closed, and empty");
    }

    #[test]
    fn what_was_cut_off_is_not_taken() {
        let cut = rollout_as(
            0,
            Said { ids: &[7, 7], finish: Finish::Length, verdict: Verdict::Pass, worth: 1.0 },
        );
        assert!(found(&[group("a", vec![cut, rollout(1, &[8], 0.0)])], 9).is_empty());
    }
}
