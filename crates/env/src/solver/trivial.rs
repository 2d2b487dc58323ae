//! The trivial policy: drop the first row of the IIS that was shown last.
//!
//! It reaches a solution nearly always and earns the largest reward of all policies that look at nothing else
//! (`docs/guides/solver.md`), so a model that has learnt something earns more.

use whetstone_core::message::Message;

/// The reply to a conversation.
pub(super) fn reply(messages: &[Message]) -> String {
    format!("Action: DROP_CONSTRAINT({})", first_row(messages).unwrap_or("none"))
}

/// The first row of the IIS; its other members are bounds, such as `ub(x)`.
fn first_row(messages: &[Message]) -> Option<&str> {
    let shown = messages.last()?.content.rsplit("IIS: [").next()?;
    let names = shown.split([',', ']']).map(str::trim);
    names.into_iter().find(|name| !name.is_empty() && !name.contains('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_of_the_last_iis_is_dropped() {
        let messages = [
            Message::user("Status: INFEASIBLE\nIIS: [room, wish]"),
            Message::assistant("Action: DROP_CONSTRAINT(room)"),
            Message::user("Status: INFEASIBLE\nIIS: [ub(x), most, wish]\nGo on."),
        ];
        assert_eq!(reply(&messages), "Action: DROP_CONSTRAINT(most)");
        assert_eq!(reply(&messages[..1]), "Action: DROP_CONSTRAINT(room)");
    }
}
