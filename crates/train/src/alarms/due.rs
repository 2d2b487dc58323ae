//! An alarm that a rule found due, and what every rule says with.

/// Standard errors from which a level is likely, and a change is clear.
pub(super) const LIKELY: f64 = 2.0;
pub(super) const CLEAR: f64 = 3.0;

/// An alarm that a rule found due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DueAlarm {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The term of the reward that it is about.
    pub(super) term: Option<String>,
}

pub(super) fn due(code: &'static str, message: String) -> DueAlarm {
    DueAlarm { code, message, term: None }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// Things to do, of which one is enough: `a`, `a or b`, `a, b or c`.
pub(super) fn any_of(options: &[String]) -> String {
    match options {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_a_list_of_any_length() {
        let of = |options: &[&str]| {
            any_of(&options.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            [of(&[]), of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"])],
            ["", "a", "a or b", "a, b or c"]
        );
    }
}
