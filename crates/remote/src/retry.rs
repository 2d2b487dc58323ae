//! News of tries that failed and are repeated, for who watches.
//!
//! A pause between two tries may last minutes, in which nothing else would be seen.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A try failed, and the next one comes after a pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The number of the next try, from 2 on.
    pub next: u32,
    /// Tries in all, at most.
    pub of: u32,
    /// The pause before it.
    pub pause: Duration,
    /// The pause that the other side asked for, which may be shorter or longer.
    pub asked: Option<Duration>,
    /// A word to count by: a status, or the kind of failure.
    pub label: String,
    /// The failure, in one line.
    pub why: String,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { next, of, why, .. } = self;
        let pause = seconds(self.pause);
        match self.asked.filter(|asked| !asked.is_zero()) {
            Some(asked) => {
                let asked = seconds(asked);
                write!(
                    f,
                    "trying again in {pause} ({next} of {of}; the server asks for {asked}): {why}"
                )
            }
            None => write!(f, "trying again in {pause} ({next} of {of}): {why}"),
        }
    }
}

/// Seconds for a message.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

/// Called before each pause, from any thread. `Default` does nothing.
#[derive(Clone)]
pub struct OnRetry(Arc<dyn Fn(&Retry) + Send + Sync>);

impl OnRetry {
    /// Calls `tell`.
    pub fn new(tell: impl Fn(&Retry) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    pub(crate) fn tell(&self, retry: &Retry) {
        (self.0)(retry);
    }
}

impl Default for OnRetry {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for OnRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnRetry")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_that_was_asked_for_is_told_from_our_own() {
        let retry = |asked, millis| Retry {
            next: 2,
            of: 4,
            pause: Duration::from_millis(millis),
            asked,
            label: "429".to_owned(),
            why: "busy".to_owned(),
        };
        let plain = "trying again in 0.3 s (2 of 4): busy";
        assert_eq!(retry(None, 350).to_string(), plain);
        assert_eq!(retry(Some(Duration::ZERO), 350).to_string(), plain);
        let asked = "trying again in 30 s (2 of 4; the server asks for 300 s): busy";
        assert_eq!(retry(Some(Duration::from_mins(5)), 30_000).to_string(), asked);
    }
}
