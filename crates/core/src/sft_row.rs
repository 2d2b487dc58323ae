//! A row of supervised fine-tuning: a conversation of which every reply is trained.
//!
//! A line has the fields of the alpaca format:
//!
//! ```json
//! {"instruction":"Debug the infeasible optimization model.","input":"Model: …\nStatus: INFEASIBLE\nIIS: [c1, c2]","output":"<think>\n1. …\n</think>\n\nDiagnosis: …\nAction: …"}
//! ```
//!
//! A conversation of several turns has `history` beside them: `[user, assistant]` pairs before the last turn.
//! The user messages are:
//!
//! | row | first message | last message |
//! |---|---|---|
//! | without `history` | `instruction`, a line break, `input`; an empty `input` is left out | the same |
//! | with `history`, as LLaMA-Factory reads it | as it stands in `history` | `instruction`, a line break, `input`; an empty `input` is left out |
//! | with `history` whose first message begins with the line `instruction`, and `input`, as earlier versions wrote it | as it stands in `history` | `input` |
//!
//! [`SftRow::of_turns`] writes the last message of several turns as `instruction` alone, so that both readers agree.
//!
//! A `system` text, which we never write, is put in front. Other fields are not read.

use crate::message::Message;
use crate::taught::TaughtEpisode;
use crate::taught::with_thinking;
use crate::trace::Trace;
use crate::wire::{Object, Wire, WireError};

/// Pairs that a history may have.
const MAX_PAIRS: usize = 1000;

/// A conversation to learn from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SftRow {
    /// The first line of the user message; with a history the last user message.
    pub instruction: String,
    /// The rest of that message.
    pub input: String,
    /// The last reply, with its thinking.
    pub output: String,
    /// Turns before the last one.
    pub history: Vec<SftTurn>,
    /// Standing instructions.
    pub system: Option<String>,
}

/// A user message and the reply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SftTurn {
    /// The user message.
    pub user: String,
    /// The reply, with its thinking.
    pub reply: String,
}

impl SftRow {
    /// The row of a conversation; `None` if there is no turn.
    pub fn of_turns(mut turns: Vec<SftTurn>) -> Option<Self> {
        let SftTurn { user, reply: output } = turns.pop()?;
        let is_alone = turns.is_empty();
        let split = user.split_once('\n').filter(|_| is_alone);
        let (instruction, input) = split.unwrap_or((&user, ""));
        Some(Self {
            instruction: instruction.to_owned(),
            input: input.to_owned(),
            output,
            history: turns,
            system: None,
        })
    }

    /// The row of a teacher's trace: of every turn of its episode, or of its one reply.
    ///
    /// # Errors
    ///
    /// If the trace has an episode that cannot be read.
    pub fn of_trace(trace: &Trace) -> Result<Option<Self>, String> {
        let turns = match TaughtEpisode::of(trace)? {
            None => {
                let reply = with_thinking(&trace.text, trace.thinking.as_deref());
                vec![SftTurn { user: trace.prompt.clone(), reply }]
            }
            Some(episode) => {
                let turns = episode.turns().iter();
                turns
                    .map(|turn| SftTurn { user: turn.prompt.clone(), reply: turn.output() })
                    .collect()
            }
        };
        Ok(Self::of_turns(turns))
    }

    /// The turns of the conversation, in order.
    pub fn turns(&self) -> Vec<SftTurn> {
        let mut turns = self.history.clone();
        turns.push(SftTurn { user: self.last_message(), reply: self.output.clone() });
        turns
    }

    /// The message in front of the turns, if there is one.
    pub fn standing(&self) -> Option<Message> {
        self.system.as_ref().map(Message::system)
    }

    fn last_message(&self) -> String {
        let ours = |first: &SftTurn| {
            first.user.split('\n').next() == Some(self.instruction.as_str())
                && !self.input.is_empty()
        };
        match (self.instruction.as_str(), self.input.as_str()) {
            (_, input) if self.history.first().is_some_and(ours) => input.to_owned(),
            (instruction, "") => instruction.to_owned(),
            (instruction, input) => format!("{instruction}\n{input}"),
        }
    }

    fn check(&self) -> Result<(), WireError> {
        let refuse =
            |field, problem: &str| Err(WireError::Field { field, problem: problem.to_owned() });
        if self.last_message().trim().is_empty() {
            return refuse("instruction", "it is empty, and so is `input`");
        }
        if self.output.trim().is_empty() {
            return refuse("output", "it is empty");
        }
        if self.history.len() > MAX_PAIRS {
            return refuse("history", &format!("more than {MAX_PAIRS} pairs"));
        }
        if self.history.iter().any(|turn| turn.reply.trim().is_empty()) {
            return refuse("history", "a reply is empty");
        }
        Ok(())
    }
}

impl Wire for SftRow {
    const NOUN: &'static str = "row";

    fn from_object(mut object: Object) -> Result<Self, WireError> {
        let history: Vec<[String; 2]> = object.take("history")?.unwrap_or_default();
        let turn = |[user, reply]: [String; 2]| SftTurn { user, reply };
        let row = Self {
            instruction: object.require("instruction")?,
            input: object.take("input")?.unwrap_or_default(),
            output: object.require_reply("output")?,
            history: history.into_iter().map(turn).collect(),
            system: object.take::<String>("system")?.filter(|text| !text.is_empty()),
        };
        row.check()?;
        Ok(row)
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.put("instruction", &self.instruction);
        object.put("input", &self.input);
        object.put("output", &self.output);
        if !self.history.is_empty() {
            let pairs: Vec<[&String; 2]> =
                self.history.iter().map(|turn| [&turn.user, &turn.reply]).collect();
            object.put("history", &pairs);
        }
        object.put_some("system", self.system.as_ref());
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<SftRow, WireError> {
        SftRow::from_object(serde_json::from_str(line).expect("test data is JSON"))
    }

    fn turn(user: &str, reply: &str) -> SftTurn {
        SftTurn { user: user.to_owned(), reply: reply.to_owned() }
    }

    const TASK: &str = "Debug the infeasible optimization model.\nModel: [code]\nStatus: INFEASIBLE\nIIS: [c1, c2, c3]";
    const SAID: &str =
        "<think>\n1. IIS contains c1\n</think>\n\nDiagnosis: c1\nAction: DROP_CONSTRAINT c1";

    #[test]
    fn one_turn_is_a_line_of_three_fields() {
        let row = SftRow::of_turns(vec![turn(TASK, SAID)]).unwrap();
        let line = r#"{"instruction":"Debug the infeasible optimization model.","input":"Model: [code]\nStatus: INFEASIBLE\nIIS: [c1, c2, c3]","output":"<think>\n1. IIS contains c1\n</think>\n\nDiagnosis: c1\nAction: DROP_CONSTRAINT c1"}"#;
        assert_eq!(row.to_line(), line);
        assert_eq!(parse(line).unwrap(), row);
        assert_eq!(row.turns(), [turn(TASK, SAID)]);
    }

    #[test]
    fn several_turns_have_a_history_and_every_message_is_said_once() {
        let turns = vec![turn(TASK, "Action: a"), turn("Status: INFEASIBLE\nIIS: [c2]", SAID)];
        let row = SftRow::of_turns(turns.clone()).unwrap();
        // LLaMA-Factory's last message is the instruction, a line break and the input, if there is one.
        assert_eq!(row.instruction, "Status: INFEASIBLE\nIIS: [c2]");
        assert_eq!(row.input, "");
        let line = row.to_line();
        let history = format!(r#","history":[[{},"Action: a"]]}}"#, serde_json::json!(TASK));
        assert!(line.ends_with(&history), "{line}");
        let read = parse(&line).unwrap();
        assert_eq!((&read, read.turns()), (&row, turns));
    }

    #[test]
    fn rows_of_other_tools_are_read_as_they_mean_them() {
        for (line, expected) in [
            (r#"{"instruction":"Add 1 and 2.","output":"3"}"#, vec![turn("Add 1 and 2.", "3")]),
            (r#"{"instruction":"Add.","input":"","output":"3"}"#, vec![turn("Add.", "3")]),
            (r#"{"instruction":"Add.","input":null,"output":"3"}"#, vec![turn("Add.", "3")]),
            (
                r#"{"instruction":"Add.","input":"1 2","output":"3","text":"…"}"#,
                vec![turn("Add.\n1 2", "3")],
            ),
            (
                r#"{"instruction":"Again.","output":"4","history":[["Add 1 and 2.","3"]]}"#,
                vec![turn("Add 1 and 2.", "3"), turn("Again.", "4")],
            ),
            // As earlier versions wrote rows of several turns.
            (
                r#"{"instruction":"Add.","input":"1 3","output":"4","history":[["Add.\n1 2","3"]]}"#,
                vec![turn("Add.\n1 2", "3"), turn("1 3", "4")],
            ),
            (
                r#"{"instruction":"Now add.","input":"1 3","output":"4","history":[["Hi.","Hi!"]]}"#,
                vec![turn("Hi.", "Hi!"), turn("Now add.\n1 3", "4")],
            ),
        ] {
            assert_eq!(parse(line).unwrap().turns(), expected, "{line}");
        }
        let row = parse(r#"{"instruction":"a","output":"b","system":"s"}"#).unwrap();
        assert_eq!(row.standing(), Some(Message::system("s")));
    }

    #[test]
    fn what_is_no_row_says_which_field_is_at_fault() {
        for (line, problem) in [
            (r#"{"input":"x","output":"y"}"#, "field `instruction` is missing"),
            (r#"{"instruction":"x"}"#, "field `output` is missing"),
            (r#"{"instruction":" ","output":"y"}"#, "field `instruction`: it is empty"),
            (r#"{"instruction":"x","output":" "}"#, "field `output`: it is empty"),
            (r#"{"instruction":"x","output":"y","history":["a","b"]}"#, "field `history`"),
            (r#"{"instruction":"x","output":"y","history":[["a"]]}"#, "field `history`"),
            (r#"{"instruction":"x","output":"y","history":[["a",""]]}"#, "a reply is empty"),
            (r#"{"instruction":7,"output":"y"}"#, "field `instruction`"),
        ] {
            let said = parse(line).unwrap_err().to_string();
            assert!(said.contains(problem), "{line}: {said}");
        }
    }

    #[test]
    fn a_trace_of_one_reply_is_a_row_of_one_turn() {
        let line = r#"{"task_id":"a","sample":0,"prompt":"Guess.\n1 to 9","text":"7","thinking":"hm","model":"m"}"#;
        let trace = Trace::from_object(serde_json::from_str(line).unwrap()).unwrap();
        let row = SftRow::of_trace(&trace).unwrap().unwrap();
        assert_eq!((row.instruction.as_str(), row.input.as_str()), ("Guess.", "1 to 9"));
        assert_eq!(row.output, "<think>\nhm\n</think>\n\n7");
    }
}
