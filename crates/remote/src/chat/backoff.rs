//! Backoff: the pause between two tries.
//!
//! The pause before try n + 1 is drawn from the upper half of `backoff · 2^(n-1)`, at most the
//! limit: growing, so that a server in trouble is left alone, and drawn, so that many threads do
//! not come back at the same moment. It follows from the seed, the request and the number of the
//! try, and from nothing else. Where the server asks for a pause, it gets that one (up to a limit
//! of its own) with the jitter of a first try on top, or our own where that is longer: servers that
//! ask for a pause of nothing, each time, must not be asked without one.

use std::time::Duration;

use whetstone_core::Seed;

use super::settings::Settings;

#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    limit: Duration,
    retry_after_limit: Duration,
    seed: Seed,
}

impl Backoff {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            first: settings.backoff,
            limit: settings.backoff_limit,
            retry_after_limit: settings.retry_after_limit,
            seed: settings.seed,
        }
    }

    /// The pause after `tried` tries of the request with this body.
    pub(super) fn pause(&self, body: &str, tried: u32, asked: Option<Duration>) -> Duration {
        let share = self.share(body, tried);
        let doublings = tried.saturating_sub(1).min(20);
        let longest = self.first.saturating_mul(1 << doublings).min(self.limit);
        let own = longest.mul_f64(0.5 + share / 2.0);
        let jitter = self.first.mul_f64(share);
        asked.map_or(own, |asked| own.max(asked.min(self.retry_after_limit) + jitter))
    }

    /// A number in [0, 1).
    fn share(&self, body: &str, tried: u32) -> f64 {
        let bits = u32::try_from(self.seed.derive(body, tried.into()).get() >> 32);
        f64::from(bits.unwrap_or(0)) / 2f64.powi(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff() -> Backoff {
        let settings = Settings {
            backoff: Duration::from_secs(1),
            backoff_limit: Duration::from_secs(10),
            retry_after_limit: Duration::from_mins(1),
            seed: Seed::new(7),
            ..Settings::default()
        };
        Backoff::new(&settings)
    }

    #[test]
    fn pauses_double_up_to_the_limit_and_are_drawn_from_the_upper_half() {
        let longest = [1.0, 2.0, 4.0, 8.0, 10.0, 10.0];
        for (tried, longest) in (1..).zip(longest) {
            for body in ["a", "b", "c"] {
                let pause = backoff().pause(body, tried, None).as_secs_f64();
                assert!((longest / 2.0..=longest).contains(&pause), "{tried}: {pause}");
            }
        }
        let last = backoff().pause("a", u32::MAX, None);
        assert!(last <= Duration::from_secs(10), "{last:?}");
    }

    #[test]
    fn a_pause_follows_from_seed_request_and_try() {
        assert_eq!(backoff().pause("a", 1, None), backoff().pause("a", 1, None));
        assert_ne!(backoff().pause("a", 1, None), backoff().pause("b", 1, None));
        let other = Backoff { seed: Seed::new(8), ..backoff() };
        assert_ne!(backoff().pause("a", 1, None), other.pause("a", 1, None));
    }

    #[test]
    fn a_server_gets_the_pause_it_asks_for_up_to_a_limit() {
        let pause = |asked| backoff().pause("a", 3, Some(Duration::from_secs(asked))).as_secs_f64();
        assert!((5.0..6.0).contains(&pause(5)), "{}", pause(5));
        assert!((60.0..61.0).contains(&pause(86_400)), "{}", pause(86_400));
        // A server that asks for nothing gets our own pause, which grows.
        assert!((2.0..=4.0).contains(&pause(0)), "{}", pause(0));
    }
}
