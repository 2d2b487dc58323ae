//! Settings of a chat completions client.

use std::time::Duration;

use whetstone_core::Seed;
use whetstone_core::config::TeacherConfig;

/// The settings of a [`Client`](super::Client). `Default` is the default teacher.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Address of the chat completions.
    pub api_url: String,
    /// The environment variable that may hold the key.
    pub api_key_env: String,
    /// To resolve the name and to connect.
    pub connect_timeout: Duration,
    /// For one try, from the first byte sent to the last received.
    pub request_timeout: Duration,
    /// Of one answer.
    pub answer_limit_bytes: u64,
    /// Times that one request is sent at most.
    pub max_tries: u32,
    /// The first pause between two tries is half to all of this; each further one may be twice as
    /// long.
    pub backoff: Duration,
    /// No pause of our own is longer.
    pub backoff_limit: Duration,
    /// No pause that a server asks for is longer.
    pub retry_after_limit: Duration,
    /// Failed tries in a row, over all threads, after which everything pauses.
    pub breaker_failures: u32,
    /// Length of the pause.
    pub breaker_pause: Duration,
    /// Times that a single request then looks for the server before all is given up.
    pub breaker_probes: u32,
    /// The same where the server limits requests (429).
    pub limited_probes: u32,
    /// Connections kept open: as many as there are threads.
    pub connections: usize,
    /// The seed of the jitter.
    pub seed: Seed,
}

impl Settings {
    /// The settings of a teacher.
    pub fn of(teacher: &TeacherConfig, seed: Seed) -> Self {
        Self {
            api_url: teacher.api_url.clone(),
            api_key_env: teacher.api_key_env.clone(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(teacher.request_timeout_s.into()),
            answer_limit_bytes: 8 << 20,
            max_tries: teacher.max_tries,
            backoff: Duration::from_millis(500),
            backoff_limit: Duration::from_secs(30),
            retry_after_limit: Duration::from_mins(2),
            // On average every thread fails twice before all pause, so that an outage costs hardly
            // a request its last try.
            breaker_failures: teacher.max_concurrent_requests.saturating_mul(2).max(4),
            breaker_pause: Duration::from_secs(20),
            breaker_probes: 3,
            // Five minutes, or longer if the server asks for longer pauses.
            limited_probes: 15,
            connections: teacher.max_concurrent_requests as usize,
            seed,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(&TeacherConfig::default(), Seed::new(0))
    }
}
