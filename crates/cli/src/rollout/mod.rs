//! `whet rollout`: tasks in, replies out; for now, replies of planted quality only.

mod args;

use whetstone_core::Seed;
use whetstone_data::phaser::mock::{MockRollouts, MockSummary, write_mock_rollouts};
use whetstone_recipe::text::counted;

pub use self::args::RolloutArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::summary::Lines;

/// Writes rollouts.
pub(crate) fn run(args: &RolloutArgs, printer: Printer) -> anyhow::Result<Exit> {
    if !args.mock {
        return Err(Failure::Usage {
            problem: "`whet rollout` writes mock replies only, and `--mock` is not given",
            hint: "add `--mock`; for a model's replies use `whet generate`, or `whet eval`, which keeps every sample",
        }
        .into());
    }
    let mock = MockRollouts {
        prompts: &args.prompts,
        out: &args.out,
        step: args.step,
        num_prompts: args.num_prompts as usize,
        group_size: args.group_size as usize,
        seed: Seed::new(args.seed),
    };
    let summary = write_mock_rollouts(&mock).map_err(Failure::Prompts)?;
    if args.json {
        printer.json(&summary)?;
    } else {
        printer.raw(&text(&summary))?;
    }
    if summary.without_reference > 0 {
        let tasks = counted(summary.without_reference, "task");
        printer
            .warning(format_args!("{tasks} without a reference program: no reply to them is good"));
    }
    Ok(Exit::Done)
}

fn text(summary: &MockSummary) -> String {
    let rollouts = counted(summary.rollouts, "mock rollout");
    let prompts = counted(summary.prompts, "prompt");
    let mut lines: Lines = vec![
        format!("{rollouts} to {prompts} into {}", summary.out.display()),
        format!("\n  {:<16} {:>7}", "quality", "replies"),
    ];
    for (quality, count) in &summary.qualities {
        lines.push(format!("  {quality:<16} {count:>7}"));
    }
    lines.join("\n") + "\n"
}
