//! An error with its causes, in one line: for events, reports and other readers that do not print a chain.

use std::error::Error;
use std::iter;

/// An error's message, followed by its causes, separated by colons.
pub fn with_causes(err: &dyn Error) -> String {
    let causes = iter::successors(err.source(), |&cause| cause.source());
    causes.fold(err.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{what}")]
    struct Broken {
        what: &'static str,
        source: Option<Box<Self>>,
    }

    #[test]
    fn the_cause_behind_everything_comes_last() {
        let disk = Broken { what: "no space", source: None };
        let file = Broken { what: "cannot write `a`", source: Some(Box::new(disk)) };
        assert_eq!(with_causes(&file), "cannot write `a`: no space");
        let run = Broken { what: "the run stopped", source: Some(Box::new(file)) };
        assert_eq!(with_causes(&run), "the run stopped: cannot write `a`: no space");
    }
}
