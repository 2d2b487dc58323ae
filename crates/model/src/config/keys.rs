//! Reads keys of a configuration with their bounds; collects all problems.
//!
//! An invalid key yields the smallest valid value, so that reading can continue and find the next
//! problem; that value is never used, because a configuration with problems is refused.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::shown;

/// A table of keys, and the problems found in it.
pub(crate) struct Keys<'a> {
    lookup: &'a dyn Fn(&str) -> Option<Value>,
    problems: Vec<String>,
}

impl<'a> Keys<'a> {
    /// Keys that `lookup` knows; `null` is as good as nothing.
    pub(crate) fn new(lookup: &'a dyn Fn(&str) -> Option<Value>) -> Self {
        Self { lookup, problems: Vec::new() }
    }

    /// The problems, in the order in which keys were read.
    pub(crate) fn into_problems(self) -> Vec<String> {
        self.problems
    }

    pub(crate) fn problem(&mut self, problem: String) {
        self.problems.push(problem);
    }

    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        (self.lookup)(key).filter(|value| !value.is_null())
    }

    /// A size that must be there.
    pub(crate) fn size(&mut self, key: &str, bounds: RangeInclusive<usize>) -> usize {
        if let Some(size) = self.size_if(key, bounds.clone()) {
            return size;
        }
        if self.get(key).is_none() {
            self.problem(format!("`{key}` is missing"));
        }
        *bounds.start()
    }

    /// A size, if it is there.
    pub(crate) fn size_if(&mut self, key: &str, bounds: RangeInclusive<usize>) -> Option<usize> {
        let value = self.get(key)?;
        let size = value.as_u64().and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|size| bounds.contains(size));
        if size.is_none() {
            let (low, high) = (bounds.start(), bounds.end());
            self.wrong(key, &value, &format!("a whole number from {low} to {high}"));
        }
        size
    }

    /// A number, if it is there.
    pub(crate) fn number_if(&mut self, key: &str, bounds: RangeInclusive<f64>) -> Option<f64> {
        let value = self.get(key)?;
        let number = value.as_f64().filter(|number| bounds.contains(number));
        if number.is_none() {
            let (low, high) = (bounds.start(), bounds.end());
            self.wrong(key, &value, &format!("a number from {low:e} to {high:e}"));
        }
        number
    }

    /// Yes or no; no, if it is not there.
    pub(crate) fn flag(&mut self, key: &str) -> bool {
        self.flag_if(key).unwrap_or(false)
    }

    /// Yes or no, if it is there.
    pub(crate) fn flag_if(&mut self, key: &str) -> Option<bool> {
        let value = self.get(key)?;
        if !value.is_boolean() {
            self.wrong(key, &value, "true or false");
        }
        value.as_bool()
    }

    /// Text, if it is there.
    pub(crate) fn text_if(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        if !value.is_string() {
            self.wrong(key, &value, "text");
        }
        value.as_str().map(str::to_owned)
    }

    /// Tokens of a vocabulary of `vocab`: one, a list, or none.
    pub(crate) fn tokens(&mut self, key: &str, vocab: usize) -> Vec<u32> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let list = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
        let token = |value: &Value| {
            let token = value.as_u64().filter(|&token| token < vocab as u64);
            token.and_then(|token| u32::try_from(token).ok())
        };
        let tokens: Option<Vec<u32>> = list.iter().map(token).collect();
        if tokens.is_none() {
            self.wrong(key, &value, &format!("tokens below {vocab}"));
        }
        tokens.unwrap_or_default()
    }

    /// A token of a vocabulary of `vocab`, if it is there.
    pub(crate) fn token_if(&mut self, key: &str, vocab: usize) -> Option<u32> {
        self.tokens(key, vocab).first().copied()
    }

    fn wrong(&mut self, key: &str, value: &Value, expected: &str) {
        let value = shown::beginning(&value.to_string());
        self.problem(format!("`{key}` is {value}, expected {expected}"));
    }
}
