//! Tries that failed and are repeated: what a user is told of them.
//!
//! A hub is asked by one thread, and each of its pauses is told. A chat server is asked by many at once, so that
//! of it the first retry of each kind is told, and of later ones one every few seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use whetstone_remote::retry::{OnRetry, Retry};

use crate::observer::Observer;
use crate::text::plain;

/// The time between two lines of the same kind.
const APART: Duration = Duration::from_secs(5);
/// Characters of a line.
const CHARS: usize = 300;

/// What was told.
#[derive(Default)]
struct Told {
    labels: BTreeSet<String>,
    last: Option<Instant>,
    /// Retries since then.
    untold: u64,
}

/// Tells of every retry.
pub(crate) fn each(observer: &dyn Observer) -> OnRetry {
    let say = observer.notes();
    OnRetry::new(move |retry| say(&plain(&retry.to_string(), CHARS)))
}

/// Tells of some retries of many threads.
pub(crate) fn some(observer: &dyn Observer) -> OnRetry {
    let (say, told) = (observer.notes(), Mutex::new(Told::default()));
    OnRetry::new(move |retry| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = told.line(retry, Instant::now()) {
            say(&line);
        }
    })
}

impl Told {
    /// The line that is due, if one is.
    fn line(&mut self, retry: &Retry, now: Instant) -> Option<String> {
        let is_new = self.labels.insert(retry.label.clone());
        let is_due = self.last.is_none_or(|last| now.saturating_duration_since(last) >= APART);
        if !is_new && !is_due {
            self.untold += 1;
            return None;
        }
        let more = match self.untold {
            0 => String::new(),
            untold => format!(" (and {untold} more)"),
        };
        (self.last, self.untold) = (Some(now), 0);
        Some(format!("{}{more}", plain(&retry.to_string(), CHARS)))
    }
}

/// `3 retried: 1 × 429, 2 × timeout`; none if nothing was.
pub fn sentence(retried: &BTreeMap<String, u64>) -> Option<String> {
    let all: u64 = retried.values().sum();
    let each = retried.iter().map(|(label, count)| match count {
        1 => label.clone(),
        _ => format!("{count} × {label}"),
    });
    let each: Vec<String> = each.collect();
    (all > 0).then(|| format!("{all} retried: {}", each.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(label: &str) -> Retry {
        Retry {
            next: 2,
            of: 4,
            pause: Duration::from_secs(1),
            asked: None,
            label: label.to_owned(),
            why: format!("it says {label}"),
        }
    }

    #[test]
    fn the_first_of_each_kind_is_told_and_then_one_every_few_seconds() {
        let (mut told, began) = (Told::default(), Instant::now());
        let mut at =
            |seconds, label| told.line(&retry(label), began + Duration::from_secs(seconds));
        let line = "trying again in 1 s (2 of 4): it says";
        assert_eq!(at(0, "429"), Some(format!("{line} 429")));
        assert_eq!(at(1, "429"), None);
        assert_eq!(at(2, "timeout"), Some(format!("{line} timeout (and 1 more)")));
        assert_eq!(at(3, "timeout"), None);
        assert_eq!(at(6, "429"), None);
        assert_eq!(at(7, "429"), Some(format!("{line} 429 (and 2 more)")));
    }

    #[test]
    fn retries_are_counted_by_kind() {
        let counts = |all: &[(&str, u64)]| {
            sentence(&all.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect())
        };
        assert_eq!(counts(&[]), None);
        let said = counts(&[("429", 1), ("500", 1), ("timeout", 1)]).unwrap();
        assert_eq!(said, "3 retried: 429, 500, timeout");
        assert_eq!(counts(&[("429", 7)]).unwrap(), "7 retried: 7 × 429");
    }
}
