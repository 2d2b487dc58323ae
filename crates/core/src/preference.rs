//! A preference pair: two replies to one prompt, of which one is preferred.
//!
//! A line of `pairs.jsonl`:
//!
//! ```json
//! {"v":1,"id":"x/1:0-3","task_id":"x/1","prompt":[{"role":"user","content":"…"}],"chosen":"…","rejected":"…","margin":0.5,"origin":"rollouts:pass_over_fail"}
//! ```
//!
//! Fields we do not know pass through untouched.

use crate::message::Message;
use crate::task::TaskId;
use crate::wire::{Object, Wire, WireError};

/// The version of the line format.
const VERSION: u64 = 1;

/// Two replies to one prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Preference {
    /// The name of the pair, once in a file.
    pub id: String,
    /// The task behind the prompt, if there is one.
    pub task_id: Option<TaskId>,
    /// The conversation before the replies.
    pub prompt: Vec<Message>,
    /// The reply that is preferred, as the model wrote it.
    pub chosen: String,
    /// The other one.
    pub rejected: String,
    /// By how much the first is better at least, in units of the score; 0 if it is not known.
    pub margin: f64,
    /// Where the pair comes from, and by which rule the order was found: `rollouts:pass_over_fail`.
    pub origin: String,
    /// Fields of the line that are not ours.
    pub rest: Object,
}

impl Wire for Preference {
    const NOUN: &'static str = "preference pair";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        object.version(VERSION)?;
        let pair = Self {
            id: object.require("id")?,
            task_id: object.take("task_id")?,
            prompt: object.require("prompt")?,
            chosen: object.require_reply("chosen")?,
            rejected: object.require_reply("rejected")?,
            margin: object.take("margin")?.unwrap_or(0.0),
            origin: object.take("origin")?.unwrap_or_default(),
            rest: Object::new(),
        };
        pair.check()?;
        Ok(Self { rest: object, ..pair })
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("v", &VERSION);
        object.put("id", &self.id);
        object.put_some("task_id", self.task_id.as_ref());
        object.put("prompt", &self.prompt);
        object.put("chosen", &self.chosen);
        object.put("rejected", &self.rejected);
        object.put("margin", &self.margin);
        object.put("origin", &self.origin);
        object.append(&self.rest);
        object
    }
}

impl Preference {
    /// Refuses a pair of which nothing can be learnt.
    fn check(&self) -> Result<(), WireError> {
        let refuse =
            |field, problem: &str| Err(WireError::Field { field, problem: problem.to_owned() });
        if self.prompt.is_empty() {
            return refuse("prompt", "there is no message");
        }
        for (field, text) in [("chosen", &self.chosen), ("rejected", &self.rejected)] {
            if text.trim().is_empty() {
                return refuse(field, "it is empty");
            }
        }
        if self.chosen == self.rejected {
            return refuse("rejected", "it is the same text as `chosen`");
        }
        if !(self.margin.is_finite() && self.margin >= 0.0) {
            return refuse("margin", "expected a number of at least 0");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = concat!(
        r#"{"v":1,"id":"x/1:0-3","task_id":"x/1","prompt":[{"role":"user","content":"p"}],"#,
        r#""chosen":"a","rejected":"b","margin":0.5,"origin":"rollouts:pass_over_fail","n":1.50}"#
    );

    fn parse(text: &str) -> Result<Preference, WireError> {
        Preference::from_object(serde_json::from_str(text).expect("test data is JSON"))
    }

    #[test]
    fn a_pair_comes_back_as_it_was_written() {
        assert_eq!(parse(LINE).unwrap().to_line(), LINE);
    }

    #[test]
    fn a_pair_that_teaches_nothing_is_refused_by_its_field() {
        let refused = |from: &str, to: &str, message: &str| {
            let line = LINE.replacen(from, to, 1);
            assert_ne!(line, LINE);
            let problem = parse(&line).unwrap_err().to_string();
            assert!(problem.contains(message), "{problem}");
        };
        refused(r#""rejected":"b""#, r#""rejected":"a""#, "`rejected`: it is the same text");
        refused(r#""chosen":"a""#, r#""chosen":" ""#, "field `chosen`: it is empty");
        refused(r#"{"role":"user","content":"p"}"#, "", "field `prompt`: there is no message");
        refused(r#""margin":0.5"#, r#""margin":-1"#, "field `margin`: expected a number");
        refused(r#""v":1"#, r#""v":2"#, "version 2 is newer");
    }
}
