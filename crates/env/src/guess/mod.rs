//! Guess a number in two turns: a wrong first guess is answered with "Higher." or "Lower.".
//!
//! The example of `docs/guides/add-an-environment.md`, which shows this file whole: it runs no programs and
//! has more than one turn. Its tasks have a body such as `{"kind":"guess","number":7}`.

use std::collections::BTreeMap;

use whetstone_core::extract::Reply;
use whetstone_core::message::Message;
use whetstone_core::reward::{Reward, Term};
use whetstone_core::seed::Seed;
use whetstone_core::task::Task;

use crate::environment::{BuildError, EnvError, Environment, Episode, Next, Outcome, Setup};

/// Its name in tasks and settings.
pub const KIND: &str = "guess";

/// Builds it; it has no settings of its own.
pub fn build(_: &Setup<'_>) -> Result<Box<dyn Environment>, BuildError> {
    Ok(Box::new(Guess))
}

struct Guess;

struct Guessing {
    number: u64,
    messages: Vec<Message>,
    replies: u32,
}

impl Environment for Guess {
    fn max_turns(&self, _: &Task) -> usize {
        2
    }

    fn open(&self, task: &Task, _: Seed) -> Result<Box<dyn Episode>, EnvError> {
        let number = task.field("number").map_err(|err| EnvError::Task(err.to_string()))?;
        let messages = vec![Message::user(&task.statement)];
        Ok(Box::new(Guessing { number, messages, replies: 0 }))
    }

    fn expert_reply(
        &self,
        task: &Task,
        _: Seed,
        _: &[Message],
    ) -> Result<Option<String>, EnvError> {
        let number: u64 = task.field("number").map_err(|err| EnvError::Task(err.to_string()))?;
        Ok(Some(number.to_string()))
    }
}

impl Episode for Guessing {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        self.replies += 1;
        let guess = reply.text.split(|c: char| !c.is_ascii_digit()).find_map(|n| n.parse().ok());
        if guess == Some(self.number) || self.replies == 2 {
            return Ok(Next::Done(self.outcome(guess)));
        }
        let hint = match guess {
            None => "Say a number.",
            Some(guess) if guess < self.number => "Higher.",
            Some(_) => "Lower.",
        };
        self.messages.extend([Message::assistant(reply.text), Message::user(hint)]);
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Ok(self.outcome(None))
    }
}

impl Guessing {
    /// 0.9 for the number, half of it in the second turn, and 0.1 for any number in the last reply.
    fn outcome(&self, guess: Option<u64>) -> Outcome {
        let solved = guess == Some(self.number);
        let right = if solved { 1.0 / f64::from(self.replies) } else { 0.0 };
        let number = f64::from(u8::from(guess.is_some()));
        let term = |name: &str, value, weight| (name.to_owned(), Term { value, weight });
        let terms = BTreeMap::from([term("right", right, 0.9), term("number", number, 0.1)]);
        let reward = Reward::new(terms, BTreeMap::new()).expect("finite terms and weights");
        Outcome::observed(KIND, solved, reward).with_fact("guesses", &self.replies)
    }
}
