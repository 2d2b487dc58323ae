//! Names of flags as Python's argparse spells them: `--num_samples` is `--num-samples`.
//!
//! No flag of `whet` has an underscore, so that one rule holds for all of them. Values are left as they are.

use std::ffi::OsString;

/// The arguments, with hyphens for the underscores of flags. What follows `--` is no flag.
pub(crate) fn hyphenated(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut is_over = false;
    let word = |argument: OsString| {
        is_over |= argument == "--";
        let flag = argument.to_str().filter(|text| text.starts_with("--") && !is_over);
        let Some(flag) = flag else { return argument };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        let name = name.replace('_', "-");
        value.map_or_else(|| name.clone(), |value| format!("{name}={value}")).into()
    };
    arguments.into_iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::{Cli, Command, DataCommand, EvalCommand};

    fn parsed(line: &str) -> Cli {
        let words = line.split_whitespace().map(OsString::from);
        Cli::try_parse_from(hyphenated(words)).unwrap_or_else(|err| panic!("{line}: {err}"))
    }

    #[test]
    fn underscores_of_flags_are_hyphens_and_values_stay() {
        let words = ["whet", "--a_b", "x_y", "--c_d=e_f=g_h", "-q_r", "--", "--i_j"];
        let found = hyphenated(words.map(OsString::from));
        assert_eq!(found, ["whet", "--a-b", "x_y", "--c-d=e_f=g_h", "-q_r", "--", "--i_j"]);
    }

    #[test]
    fn no_flag_has_an_underscore() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let names = argument.get_long().into_iter();
                let names = names.chain(argument.get_all_aliases().into_iter().flatten());
                for name in names {
                    assert!(!name.contains('_'), "{}: --{name}", command.get_name());
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    /// Every flag of the commands in the four documents that this program answers to, with its value.
    #[test]
    fn flags_of_the_documents_are_those_of_their_commands() {
        let Command::Data(DataCommand::Prepare(prepare)) =
            parsed("whet data prepare --apps_difficulty introductory").command
        else {
            panic!("another command");
        };
        assert_eq!(prepare.apps_difficulty.len(), 1);
        let Command::Data(DataCommand::Prepare(prepare)) =
            parsed("whet data prepare --skip_apps").command
        else {
            panic!("another command");
        };
        assert!(prepare.skip_apps);
        let Command::Teach(teach) = parsed("whet teach --test_connection").command else {
            panic!("another command");
        };
        assert!(teach.test_connection);
        let Command::Teach(teach) = parsed("whet teach --max_tasks 5 --num_samples 2").command
        else {
            panic!("another command");
        };
        assert_eq!((teach.max_tasks, teach.num_samples), (Some(5), Some(2)));
        let line = "whet eval --model_path outputs/checkpoint-1000 --num_samples 200";
        let Command::Eval(eval) = parsed(line).command else { panic!("another command") };
        assert!(!matches!(eval.command, Some(EvalCommand::Compare(_))));
        assert_eq!(eval.measure.model.as_deref(), Some("outputs/checkpoint-1000"));
        assert_eq!(eval.measure.num_samples, Some(200));
        let line = "whet data prompts --prompt-seeds seeds.jsonl --out-train train.jsonl --out-eval eval.jsonl \
                    --train-count 50 --eval-count 20 --seed 42";
        assert!(matches!(parsed(line).command, Command::Data(DataCommand::Prompts(_))));
        let line = "whet rollout --mock --prompts train.jsonl --out mock_step0001.jsonl --step 1 --num-prompts 8 \
                    --group-size 8 --seed 2026";
        let Command::Rollout(rollout) = parsed(line).command else { panic!("another command") };
        assert_eq!((rollout.step, rollout.num_prompts, rollout.group_size), (1, Some(8), 8));
        let line = "whet score --prompts train.jsonl --rollouts mock_step0001.jsonl --out scored.jsonl \
                    --cache validator_cache.jsonl --api-index phaser_api.jsonl --validator-cli cli.js --skip-runtime";
        let Command::Score(score) = parsed(line).command else { panic!("another command") };
        assert!(score.skip_runtime && score.rollouts_file.is_some());
    }
}
