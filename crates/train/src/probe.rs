//! One step of a training of which nothing is kept: how long all of them would take.
//!
//! The step is the real one, with its tasks or rows, the judge and the update, on the student in memory. No
//! run is opened, and nothing is written. Whoever probes throws the student away.

use std::time::Duration;

use crate::watch::Warning;

/// Measurements of a probed step.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The step without measuring by held-out tasks.
    pub step: Duration,
    /// Its parts, by name.
    pub parts: Vec<(&'static str, Duration)>,
    /// Steps that the training has before it.
    pub steps: u64,
    /// One measurement by held-out tasks, if the training makes any.
    pub held_out: Option<Duration>,
    /// Count of held-out measurements in the run.
    pub measurements: u64,
    /// Warnings of the step.
    pub warnings: Vec<Warning>,
}

impl Probe {
    /// About how long the training takes.
    #[expect(clippy::cast_precision_loss, reason = "counts of steps")]
    pub fn seconds(&self) -> f64 {
        let held_out = self.held_out.unwrap_or_default().as_secs_f64();
        self.step.as_secs_f64() * self.steps as f64 + held_out * self.measurements as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_all_steps_and_all_measurements() {
        let probe = Probe {
            step: Duration::from_secs(40),
            parts: Vec::new(),
            steps: 100,
            held_out: Some(Duration::from_secs(30)),
            measurements: 5,
            warnings: Vec::new(),
        };
        assert!((probe.seconds() - 4150.0).abs() < 1e-9);
        assert!((Probe { held_out: None, ..probe }.seconds() - 4000.0).abs() < 1e-9);
    }
}
