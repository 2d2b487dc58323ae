//! Tries a student on a few small tasks, greedily: how many of its replies have code, and what to set if few do.

use whetstone_core::config::{Config, ThinkingMode};
use whetstone_recipe::evaluation::prompts::{TryOut, try_out};
use whetstone_recipe::observer::Observer;

use crate::Finding;

const CHECK: &str = "student's code";

/// Few, since a student of a billion parameters takes seconds for each on a CPU.
const LIMITS: TryOut = TryOut { tasks: 6, max_tokens: 384 };

/// The share of replies without code from which something is wrong with the prompt.
const MANY: f64 = 0.25;

/// What became of the replies.
#[derive(Debug, Clone, Copy)]
struct Replies {
    with_code: f64,
    passed: f64,
    cut_off: f64,
    thinking: ThinkingMode,
}

/// Asks the student, whose prompt is settled, for the programs of some tasks.
pub(crate) fn finding(config: &Config, model: &str, observer: &dyn Observer) -> Finding {
    let found = match try_out(config, model, LIMITS, observer) {
        Ok(found) => found,
        Err(err) => {
            let hint = "see the checks above; `whet prompt show` prints what it is asked";
            return Finding::fail(CHECK, whetstone_core::with_causes(&err), hint);
        }
    };
    let with_code = found.and_then(|found| found.code.map(|code| (found, code)));
    let Some((found, code)) = with_code else {
        let hint = "see the checks of the judge above";
        return Finding::warn(CHECK, "no reply could be judged", hint);
    };
    #[expect(clippy::cast_precision_loss, reason = "a few replies")]
    let cut_off = found.cut_off as f64 / LIMITS.tasks as f64;
    told(Replies {
        with_code: code.code_rate.value,
        passed: found.greedy.value,
        cut_off,
        thinking: config.prompt.thinking,
    })
}

fn told(replies: Replies) -> Finding {
    let Replies { with_code, passed, cut_off, thinking } = replies;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    if 1.0 - with_code <= MANY {
        let detail = format!(
            "{} of its replies to {} small tasks have code, {} pass",
            percent(with_code),
            LIMITS.tasks,
            percent(passed)
        );
        return Finding::pass(CHECK, detail);
    }
    let detail = format!(
        "{} of its replies to {} small tasks have no code, {} are cut off after {} tokens",
        percent(1.0 - with_code),
        LIMITS.tasks,
        percent(cut_off),
        LIMITS.max_tokens
    );
    let hint = if thinking != ThinkingMode::Off {
        "use `prompt.thinking = \"off\"`; `whet prompt compare` measures several prompts"
    } else if cut_off > MANY {
        "its replies are long: `whet prompt compare --max-tokens N` tells whether a higher limit helps"
    } else {
        "use another `prompt.template`; `whet prompt compare` measures several"
    };
    Finding::warn(CHECK, detail, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[track_caller]
    fn check(replies: Replies, status: Status, says: &str) {
        let found = told(replies);
        assert_eq!(found.status, status, "{found:?}");
        let said = format!("{} {}", found.detail, found.hint.unwrap_or_default());
        assert!(said.contains(says), "{said}");
    }

    #[test]
    fn few_replies_with_code_are_told_with_the_setting_that_helps() {
        let fine =
            Replies { with_code: 1.0, passed: 0.5, cut_off: 0.0, thinking: ThinkingMode::Off };
        check(fine, Status::Pass, "100 % of its replies to 6 small tasks have code, 50 % pass");
        let without = Replies { with_code: 1.0 / 6.0, ..fine };
        let in_tags = Replies { thinking: ThinkingMode::Tags, ..without };
        check(in_tags, Status::Warn, "83 % of its replies");
        check(in_tags, Status::Warn, "use `prompt.thinking = \"off\"`");
        check(without, Status::Warn, "another `prompt.template`");
        check(Replies { cut_off: 0.5, ..without }, Status::Warn, "--max-tokens N");
    }
}
