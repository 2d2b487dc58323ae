//! Guess a number in two turns: a wrong first guess is answered with "Higher." or "Lower.".
//!
//! It is small on purpose: `docs/guides/add-an-environment.md` shows this file whole, as the example of an
//! environment that runs no programs and has more than one turn. Its tasks have a body such as
//! `{"kind":"guess","number":7}`.

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
    number: i64,
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
}

impl Episode for Guessing {
    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn reply(&mut self, reply: Reply<'_>) -> Result<Next, EnvError> {
        self.replies += 1;
        let digits = reply.text.rsplit(|c: char| !c.is_ascii_digit()).find(|word| !word.is_empty());
        let guess: Option<i64> = digits.and_then(|digits| digits.parse().ok());
        let hint = match guess {
            Some(guess) if guess == self.number || self.replies == 2 => {
                return Ok(Next::Done(self.outcome(Some(guess))));
            }
            None if self.replies == 2 => return Ok(Next::Done(self.outcome(None))),
            Some(guess) if guess < self.number => "Higher.",
            Some(_) => "Lower.",
            None => "Say a number.",
        };
        self.messages.extend([Message::assistant(reply.text), Message::user(hint)]);
        Ok(Next::Ask)
    }

    fn cut_short(&mut self) -> Result<Outcome, EnvError> {
        Ok(self.outcome(None))
    }
}

impl Guessing {
    /// 0.9 for the number, half of it in the second turn, and 0.1 for any number at all.
    fn outcome(&self, guess: Option<i64>) -> Outcome {
        let solved = guess == Some(self.number);
        let right = if solved { 1.0 / f64::from(self.replies) } else { 0.0 };
        let form = f64::from(u8::from(guess.is_some()));
        let terms = [("right", right, 0.9), ("number", form, 0.1)];
        let term = |(name, value, weight): (&str, _, _)| (name.to_owned(), Term { value, weight });
        let reward = Reward::new(BTreeMap::from(terms.map(term)), BTreeMap::new());
        let reward = reward.expect("terms and weights are finite");
        Outcome::observed(KIND, solved, reward).with_fact("guesses", &self.replies)
    }
}
