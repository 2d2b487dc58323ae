//! What running a program against its hidden tests showed.
//!
//! Each variant says something about the *program*. That the machine broke is not in this list:
//! that is [`Infrastructure`](crate::judgement::Infrastructure), an error, which is never paid and
//! never punished (invariant 3). The list is closed, so a new way to fail is a decision that every
//! `match` has to take.

/// The judge's verdict on a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every hidden test passed.
    Pass,
    /// A test saw a wrong answer.
    Wrong {
        /// The first such test, counted from 0.
        test: u32,
    },
    /// A test ended in an exception.
    Raised {
        /// The first such test, counted from 0.
        test: u32,
        /// The exception's type, e.g. `IndexError`.
        kind: String,
    },
    /// It used up its time.
    Timeout,
    /// It used up its memory.
    Memory,
    /// It wrote more than it may.
    Output,
    /// A signal ended it.
    Crashed {
        /// The signal's number.
        signal: i32,
    },
    /// It did not get as far as the first test: an exception or an exit while loading.
    LoadError {
        /// The name of the exception, e.g. `NameError`.
        kind: String,
    },
    /// The reply had no program.
    NoCode,
    /// The program does not parse.
    SyntaxError,
    /// A test returned something that is not plain data.
    Unserialisable {
        /// The first such test, counted from 0.
        test: u32,
    },
}

impl Verdict {
    /// Whether it says by itself that the program did not load.
    pub fn is_load_error(&self) -> bool {
        matches!(self, Self::LoadError { .. })
    }

    /// Every name that a verdict has, in the order in which they are listed.
    pub const NAMES: [&str; 11] = [
        "pass",
        "wrong",
        "raised",
        "timeout",
        "memory",
        "output",
        "crashed",
        "load_error",
        "no_code",
        "syntax_error",
        "unserialisable",
    ];

    /// The verdict's name in files and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Wrong { .. } => "wrong",
            Self::Raised { .. } => "raised",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Crashed { .. } => "crashed",
            Self::LoadError { .. } => "load_error",
            Self::NoCode => "no_code",
            Self::SyntaxError => "syntax_error",
            Self::Unserialisable { .. } => "unserialisable",
        }
    }

    /// Whether the program solved the task.
    pub fn is_pass(&self) -> bool {
        matches!(self, Self::Pass)
    }

    /// Whether anything was run at all.
    pub fn ran(&self) -> bool {
        !matches!(self, Self::NoCode | Self::SyntaxError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_names_has_each_once_and_in_order() {
        let kind = String::new();
        let all = [
            Verdict::Pass,
            Verdict::Wrong { test: 0 },
            Verdict::Raised { test: 0, kind: kind.clone() },
            Verdict::Timeout,
            Verdict::Memory,
            Verdict::Output,
            Verdict::Crashed { signal: 9 },
            Verdict::LoadError { kind },
            Verdict::NoCode,
            Verdict::SyntaxError,
            Verdict::Unserialisable { test: 0 },
        ];
        assert_eq!(all.map(|verdict| verdict.name()), Verdict::NAMES);
    }
}
