//! Metrics of a step by name, while they are being computed.

use std::collections::BTreeMap;

use whetstone_core::metric::{Metric, reward_term, reward_term_of_failing};

/// Values by name.
#[derive(Debug, Default)]
pub(crate) struct Values(pub(crate) BTreeMap<String, f64>);

impl Values {
    pub(crate) fn put(&mut self, metric: Metric, value: f64) {
        self.0.insert(metric.name.to_owned(), value);
    }

    pub(crate) fn put_some(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value {
            self.put(metric, value);
        }
    }

    /// Puts means of what an environment measured.
    pub(crate) fn put_of_environment(&mut self, means: BTreeMap<String, f64>) {
        self.0.extend(means);
    }

    /// Puts what a term of the reward adds.
    pub(crate) fn put_term(&mut self, term: &str, value: Option<f64>) {
        self.0.extend(value.map(|value| (reward_term(term), value)));
    }

    /// Puts what a term of the reward adds to that of rollouts that do not pass.
    pub(crate) fn put_term_of_failing(&mut self, term: &str, value: Option<f64>) {
        self.0.extend(value.map(|value| (reward_term_of_failing(term), value)));
    }
}

pub(crate) fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
pub(crate) fn number(count: usize) -> f64 {
    count as f64
}
