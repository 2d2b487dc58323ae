//! Preference pairs as tokens, and which of them are held out.
//!
//! Both replies of a pair stand after the same prompt, each followed by the token that ends a message:
//! the score is read behind it.

use std::collections::{BTreeMap, BTreeSet};

use whetstone_core::preference::Preference;
use whetstone_core::seed::Seed;
use whetstone_data::rows::Tokens;
use whetstone_model::Pretrained;
use whetstone_model::template::Options;

use crate::error::TrainError;
use crate::hold_out::HoldOut;
use crate::rows::Ending;

/// A pair as tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenPair {
    /// The prompt, the chosen reply and the token that ends it.
    pub chosen: Vec<u32>,
    /// The prompt, the rejected reply and the token that ends it.
    pub rejected: Vec<u32>,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// The lead that the chosen reply is to have.
    pub margin: f64,
    /// The number of its task or prompt.
    pub prompt: usize,
}

/// Pairs as tokens, and what was left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenPairs {
    /// The pairs that can be learnt from.
    pub pairs: Vec<TokenPair>,
    /// The place of each among all pairs.
    pub places: Vec<usize>,
    /// Pairs with a reply that is too long, behind its prompt.
    pub too_long: usize,
    /// Pairs whose texts differ, but not their tokens.
    pub same_tokens: usize,
    /// Tokens of the longest sequence, of those left out too.
    pub longest: usize,
}

/// Pairs to learn from, and pairs to measure by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// To learn from.
    pub train: Vec<Preference>,
    /// To measure by.
    pub held_out: Vec<Preference>,
}

impl TokenPair {
    /// Tokens of both sequences.
    pub(crate) fn tokens(&self) -> usize {
        self.chosen.len() + self.rejected.len()
    }

    /// Tokens of the longer sequence.
    pub(crate) fn longest(&self) -> usize {
        self.chosen.len().max(self.rejected.len())
    }
}

/// Makes tokens of pairs. Sequences of more than `limit` tokens are left out and counted.
///
/// # Errors
///
/// If the model has no chat template or no token that ends a message, or a prompt cannot be rendered.
pub fn token_pairs(
    model: &Pretrained,
    preferences: &[Preference],
    limit: usize,
) -> Result<TokenPairs, TrainError> {
    let tokens = Ending::of(model).ok_or_else(|| {
        TrainError::Settings("the model has no token that ends a message".to_owned())
    })?;
    let template = model.template.as_ref().ok_or(TrainError::NoTemplate)?;
    let numbers = numbers(preferences);
    let mut made = TokenPairs::default();
    for (at, (preference, prompt)) in preferences.iter().zip(numbers).enumerate() {
        let text = template.render(&preference.prompt, &Options::prompt());
        let text = text.map_err(|err| TrainError::Pair {
            id: preference.id.clone(),
            problem: whetstone_core::with_causes(&err),
        })?;
        let before = model.tokenizer.encode(&text)?;
        let of = |reply: &str| {
            let reply = tokens.encode(reply);
            before.iter().copied().chain(reply).chain([tokens.end()]).collect::<Vec<u32>>()
        };
        let (chosen, rejected) = (of(&preference.chosen), of(&preference.rejected));
        let margin = preference.margin;
        let pair = TokenPair { chosen, rejected, prompt_tokens: before.len(), margin, prompt };
        made.longest = made.longest.max(pair.longest());
        if pair.longest() > limit {
            made.too_long += 1;
        } else if pair.chosen == pair.rejected {
            made.same_tokens += 1;
        } else {
            made.pairs.push(pair);
            made.places.push(at);
        }
    }
    Ok(made)
}

/// Holds out a `fraction` of the pairs, whole tasks or prompts at a time. Which ones depends on the seed
/// and their names, not on the order of the file.
///
/// # Errors
///
/// If all pairs are of one task or prompt.
pub fn hold_out(
    preferences: Vec<Preference>,
    fraction: f64,
    seed: u64,
) -> Result<Split, TrainError> {
    let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
    for preference in &preferences {
        *by_key.entry(key(preference)).or_default() += 1;
    }
    if by_key.len() < 2 {
        return Err(TrainError::Settings(format!(
            "all {} pairs are of one prompt, so none can be held out: add pairs of other prompts, or name \
             others with `--held-out-pairs`",
            preferences.len()
        )));
    }
    let chosen = HoldOut { seed: Seed::new(seed), name: "held-out pairs", fraction }.draw(&by_key);
    let (held_out, train) =
        preferences.into_iter().partition(|preference| chosen.contains(&key(preference)));
    Ok(Split { train, held_out })
}

/// The task or prompt that both of two lists have pairs of, and its pair in the second one.
pub fn shared<'a>(train: &[Preference], held_out: &'a [Preference]) -> Option<&'a Preference> {
    let known: BTreeSet<String> = train.iter().map(key).collect();
    held_out.iter().find(|preference| known.contains(&key(preference)))
}

/// The number of each pair's task or prompt.
fn numbers(preferences: &[Preference]) -> Vec<usize> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let number = |preference| {
        let next = numbers.len();
        *numbers.entry(key(preference)).or_insert(next)
    };
    preferences.iter().map(number).collect()
}

/// The task of a pair, or its prompt.
fn key(preference: &Preference) -> String {
    if let Some(task) = &preference.task_id {
        return format!("task {task}");
    }
    let text = serde_json::to_string(&preference.prompt).unwrap_or_default();
    format!("prompt {}", blake3::hash(text.as_bytes()).to_hex())
}

#[cfg(test)]
mod tests {
    use whetstone_core::Message;
    use whetstone_core::wire::Object;

    use super::*;
    use crate::testing::{settings, student};

    fn preference(id: usize, task: Option<&str>, prompt: &str) -> Preference {
        Preference {
            id: id.to_string(),
            task_id: task.map(|task| task.to_owned().try_into().unwrap()),
            prompt: vec![Message::user(prompt)],
            chosen: format!("a{id}"),
            rejected: "bcd".to_owned(),
            margin: 0.5,
            origin: String::new(),
            rest: Object::new(),
        }
    }

    #[test]
    fn both_replies_stand_behind_the_prompt_and_end() {
        let config = settings();
        let (_dir, student) = student(&config);
        let made = token_pairs(&student.model, &[preference(1, None, "p")], 32).unwrap();
        let pair = &made.pairs[0];
        let prompt = student.prompt(&[Message::user("p")]).unwrap();
        assert_eq!(pair.prompt_tokens, prompt.len());
        assert_eq!(&pair.chosen[..prompt.len()], prompt);
        assert_eq!(&pair.rejected[..prompt.len()], prompt);
        let end = student.model.tokenizer.eos().unwrap();
        let encode = |text| student.model.tokenizer.encode(text).unwrap();
        assert_eq!(pair.chosen[prompt.len()..], [encode("a1"), vec![end]].concat());
        assert_eq!(pair.rejected[prompt.len()..], [encode("bcd"), vec![end]].concat());
    }

    #[test]
    fn what_is_too_long_is_counted() {
        let (_dir, student) = student(&settings());
        let mut long = preference(2, None, "p");
        long.rejected = "x".repeat(40);
        let all = [preference(1, None, "p"), long];
        let made = token_pairs(&student.model, &all, 32).unwrap();
        assert_eq!((made.places.as_slice(), made.too_long), (&[0][..], 1));
        assert!(made.longest > 40);
        assert_eq!(token_pairs(&student.model, &all, 3).unwrap().too_long, 2);
    }

    #[test]
    fn a_task_is_held_out_as_a_whole_whatever_the_order_of_the_file() {
        let tasks: Vec<String> = (0..20).map(|at| format!("t/{}", at / 2)).collect();
        let pairs = |order: &[usize]| -> Vec<Preference> {
            order.iter().map(|&at| preference(at, Some(&tasks[at]), "p")).collect()
        };
        let seed = 42;
        let forward: Vec<usize> = (0..20).collect();
        let backward: Vec<usize> = (0..20).rev().collect();
        let held_out = |order: &[usize]| -> BTreeSet<String> {
            let split = hold_out(pairs(order), 0.1, seed).unwrap();
            assert_eq!(split.train.len() + split.held_out.len(), 20);
            assert!(shared(&split.train, &split.held_out).is_none());
            split.held_out.into_iter().map(|pair| pair.id).collect()
        };
        assert_eq!(held_out(&forward), held_out(&backward));
        assert_eq!(held_out(&forward).len(), 2, "a tenth");
        let elsewhere = hold_out(pairs(&forward), 0.1, seed + 1).unwrap().held_out;
        let elsewhere: BTreeSet<String> = elsewhere.into_iter().map(|pair| pair.id).collect();
        assert_ne!(held_out(&forward), elsewhere);
    }

    #[test]
    fn without_a_task_the_prompt_tells_pairs_apart() {
        let one = [preference(1, None, "p"), preference(2, None, "p")];
        let err = hold_out(one.to_vec(), 0.1, 1).unwrap_err().to_string();
        assert!(err.starts_with("all 2 pairs are of one prompt"), "{err}");
        let two = vec![preference(1, None, "p"), preference(2, None, "q")];
        let split = hold_out(two, 0.1, 1).unwrap();
        assert_eq!((split.train.len(), split.held_out.len()), (1, 1));
        let again = [preference(3, None, "q"), preference(4, None, "r")];
        let both = [split.train, split.held_out].concat();
        assert_eq!(shared(&both, &again).unwrap().id, "3");
        assert_eq!(numbers(&[one.to_vec(), again.to_vec()].concat()), [0, 0, 1, 2]);
    }
}
