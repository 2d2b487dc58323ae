//! What was written, as a person reads it.

use whetstone_data::phaser::mock::MockSummary;
use whetstone_recipe::text::{counted, duration, many, plain};
use whetstone_rollout::sample::SampleSummary;

use crate::summary::Lines;

/// Rollouts of a model.
pub(super) fn sampled(found: &SampleSummary) -> String {
    let SampleSummary { out, rollouts, resumed, cut_off, tokens, .. } = found;
    let model = plain(&found.model, 100);
    let mut lines: Lines = vec![format!(
        "{} of {model} to {} into {}",
        counted(*rollouts, "rollout"),
        counted(found.prompts, "prompt"),
        out.display()
    )];
    if let Some(tokens) = tokens {
        lines.push(format!("  tokens   {}", many(*tokens, "token")));
    }
    lines.push(format!("  cut off  {cut_off} by the limit on tokens"));
    if *resumed > 0 {
        lines.push(format!("  resumed  {resumed} of an earlier process"));
    }
    lines.push(format!("  time     {}", duration(found.seconds)));
    lines.join("\n") + "\n"
}

/// Mock rollouts.
pub(super) fn mock(summary: &MockSummary) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_counts() {
        let found = SampleSummary {
            v: 1,
            out: "r.jsonl".into(),
            model: "m".to_owned(),
            step: 1,
            prompts: 2,
            rollouts: 16,
            resumed: 0,
            missing: 0,
            too_long: 0,
            cut_off: 3,
            tokens: Some(1200),
            seconds: 90.0,
        };
        let text = sampled(&found);
        let expected = "16 rollouts of m to 2 prompts into r.jsonl\n  tokens   1200 tokens\n  \
                        cut off  3 by the limit on tokens\n  time     2 min\n";
        assert_eq!(text, expected);
        let server = SampleSummary { tokens: None, resumed: 5, ..found };
        let text = sampled(&server);
        assert!(!text.contains("tokens  ") && text.contains("\n  resumed  5 of"), "{text}");
    }
}
