//! Why the jail could not be shut, in words: the child sends a letter and the number of an error.

use crate::os;

/// The message for the letter of a step of `jail/harden.rs` and its error, if they came.
pub(super) fn jail_fault(fault: Option<(u8, u8)>) -> String {
    match fault {
        Some((step, error)) => {
            let error = os::error_text(i32::from(error));
            format!("the jail could not be shut: it cannot {}: {error}", step_text(step))
        }
        None => "the jail could not be shut".to_owned(),
    }
}

const UNKNOWN: &str = "take a step that is not known";

fn step_text(step: u8) -> &'static str {
    match step {
        b'd' => "move its descriptors",
        b'p' => "use the interpreter's own filter of system calls",
        b's' => "make a process group",
        b'u' => "map its user",
        b'm' => "mount a scratch folder",
        b'c' => "enter its folder",
        b'f' => "close the descriptors of others",
        b'r' => "set resource limits (are the hard limits of `ulimit -Ha` lower?)",
        b'k' => "tie its life to that of the interpreter",
        b'l' => "restrict files with Landlock",
        b'a' => "drop its capabilities",
        b'n' => "hide its memory",
        b'q' => "filter its system calls",
        b'w' => "say that it is ready",
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_of_the_jail_has_words() {
        let source = include_str!("../jail/harden.rs");
        let letters: Vec<u8> =
            source.split("step(b'").skip(1).map(|rest| rest.as_bytes()[0]).collect();
        assert!(letters.len() >= 14, "{letters:?}");
        for letter in letters {
            assert_ne!(step_text(letter), UNKNOWN, "{}", char::from(letter));
        }
    }

    #[test]
    fn a_fault_names_what_was_refused_and_why() {
        // EPERM is 1.
        assert_eq!(
            jail_fault(Some((b'r', 1))),
            "the jail could not be shut: it cannot set resource limits (are the hard limits of \
             `ulimit -Ha` lower?): Operation not permitted"
        );
        assert_eq!(jail_fault(None), "the jail could not be shut");
    }
}
