//! Metrics of a step by name, while they are being computed.

use std::collections::BTreeMap;

/// Values by name.
#[derive(Debug, Default)]
pub(super) struct Values(pub(super) BTreeMap<String, f64>);

impl Values {
    pub(super) fn put(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn put_some(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

pub(super) fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}
