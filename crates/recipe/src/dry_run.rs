//! `--dry-run`: what a command would read, do and write, the memory it needs, and an estimate of
//! the time.
//!
//! The time comes from a probe: one step, task or request, which is run and discarded. Nothing is
//! written where the command would write, and nothing stays.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use whetstone_infer::Limits;
use whetstone_model::memory::Plan;
use whetstone_train::probe::Probe as StepProbe;

use crate::text::{counted, duration};

/// The plan of a command.
#[derive(Debug, Serialize)]
pub struct DryRun {
    v: u32,
    #[serde(rename = "dry_run")]
    is_dry: bool,
    command: &'static str,
    reads: Vec<String>,
    /// Counts by unit: tasks, steps, maximal tokens.
    counts: BTreeMap<&'static str, u64>,
    /// The steps as text.
    does: Vec<String>,
    writes: Vec<String>,
    /// MiB by purpose.
    memory_mib: BTreeMap<&'static str, u64>,
    /// How much is sampled at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<SamplingLimits>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<Probe>,
    /// `about 9 h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate_seconds: Option<f64>,
}

/// What came of a recipe.
#[derive(Debug)]
pub enum Outcome<T> {
    /// The plan, where only that was wanted.
    Planned(Box<DryRun>),
    /// It was done.
    Done(T),
}

impl<T> Outcome<T> {
    pub(crate) fn plan(plan: DryRun) -> Self {
        Self::Planned(Box::new(plan))
    }
}

/// How much is sampled at a time.
#[derive(Debug, Serialize)]
struct SamplingLimits {
    rows: usize,
    kv_cache_mib: u64,
}

/// Something done once, for its time.
#[derive(Debug, Serialize)]
struct Probe {
    what: String,
    seconds: f64,
}

impl DryRun {
    /// Of a command, e.g. `whet eval`.
    pub fn of(command: &'static str) -> Self {
        Self {
            v: 1,
            is_dry: true,
            command,
            reads: Vec::new(),
            counts: BTreeMap::new(),
            does: Vec::new(),
            writes: Vec::new(),
            memory_mib: BTreeMap::new(),
            sampling: None,
            notes: Vec::new(),
            probe: None,
            estimate: None,
            estimate_seconds: None,
        }
    }

    /// It would read this.
    pub fn reads(&mut self, what: impl Into<String>) {
        self.reads.push(what.into());
    }

    /// It would do this.
    pub fn does(&mut self, what: impl Into<String>) {
        self.does.push(what.into());
    }

    /// Adds a count.
    pub fn count(&mut self, what: &'static str, count: u64) {
        self.counts.insert(what, count);
    }

    /// It would write this.
    pub fn writes(&mut self, what: impl Into<String>) {
        self.writes.push(what.into());
    }

    /// Adds a note.
    pub fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    /// It takes so much memory for something.
    pub fn memory(&mut self, what: &'static str, plan: &Plan) {
        self.memory_mib.insert(what, plan.total() >> 20);
    }

    /// Sampling within limits takes so much memory.
    pub fn sampling(&mut self, plan: &Plan, limits: Limits) {
        let plan = limits.applied_to(plan);
        self.memory("to sample", &plan);
        let sampling = SamplingLimits { rows: limits.sequences, kv_cache_mib: plan.cache >> 20 };
        self.does(format!(
            "samples {} at a time, with a KV cache of {} MiB at most",
            counted(sampling.rows, "sequence"),
            sampling.kv_cache_mib
        ));
        self.sampling = Some(sampling);
    }

    /// Something took so long, so all of it takes about so long.
    pub fn probed(&mut self, what: impl Into<String>, seconds: f64, whole: f64) {
        self.probe = Some(Probe { what: what.into(), seconds });
        self.takes(whole);
    }

    /// Adds seconds of work besides the steps.
    pub fn probed_with(&mut self, more: f64) {
        self.takes(self.estimate_seconds.unwrap_or_default() + more);
    }

    /// The estimated time, if it is known.
    pub fn estimate_seconds(&self) -> Option<f64> {
        self.estimate_seconds
    }

    fn takes(&mut self, seconds: f64) {
        self.estimate = Some(format!("about {}", duration(seconds.max(1.0))));
        self.estimate_seconds = Some(seconds);
    }

    /// A step of a training.
    pub fn stepped(&mut self, probe: &StepProbe) {
        let parts =
            probe.parts.iter().map(|(name, took)| format!("{name} {:.1} s", took.as_secs_f64()));
        let held_out =
            probe.held_out.map(|took| format!("held-out tasks {:.1} s more", took.as_secs_f64()));
        let parts: Vec<String> = parts.chain(held_out).collect();
        let parts =
            if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
        let what = format!("one step{parts}");
        self.probed(what, probe.step.as_secs_f64(), probe.seconds());
        self.notes.extend(probe.warnings.iter().map(|warning| warning.message.clone()));
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        let mut text = format!("dry run of `{}`: nothing is written\n", self.command);
        let memory = self.memory_mib.iter().map(|(what, mib)| format!("{mib} MiB {what}"));
        let memory: Vec<String> = memory.collect();
        let probe =
            self.probe.iter().map(|probe| format!("{}: {:.2} s", probe.what, probe.seconds));
        let probe: Vec<String> = probe.collect();
        let rows = [
            ("reads", &self.reads),
            ("does", &self.does),
            ("writes", &self.writes),
            ("memory", &memory),
            ("notes", &self.notes),
            ("probe", &probe),
        ];
        for (name, lines) in rows {
            for (at, line) in lines.iter().enumerate() {
                let _ = writeln!(text, "  {:<8} {line}", if at == 0 { name } else { "" });
            }
        }
        let estimate = self.estimate.as_deref().unwrap_or("the time is not known");
        let _ = writeln!(text, "{estimate}");
        text
    }
}

/// Estimated seconds of `all` pieces, given that `probed` of them took `seconds` together, on several
/// cores. The probe may have left cores idle.
#[expect(clippy::cast_precision_loss, reason = "counts of pieces")]
pub fn on_cores(seconds: f64, probed: u64, all: u64, cores: usize) -> f64 {
    let busy = probed.clamp(1, cores.max(1) as u64) as f64 / cores.max(1) as f64;
    seconds / probed.max(1) as f64 * all as f64 * busy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_everything_and_ends_with_the_time() {
        let mut dry_run = DryRun::of("whet eval");
        dry_run.reads("tasks.jsonl: 4 tasks");
        dry_run.does("4 tasks × 10 samples");
        dry_run.count("tasks", 4);
        dry_run.writes("out/rollouts.jsonl");
        dry_run.writes("out/evaluation_results.json");
        dry_run.memory("to sample", &Plan { weights: 3 << 20, ..Plan::default() });
        assert!(dry_run.text().ends_with("\nthe time is not known\n"));
        dry_run.probed("one task", 81.0, 32_400.0);
        let expected = "\
dry run of `whet eval`: nothing is written
  reads    tasks.jsonl: 4 tasks
  does     4 tasks × 10 samples
  writes   out/rollouts.jsonl
           out/evaluation_results.json
  memory   3 MiB to sample
  probe    one task: 81.00 s
about 9 h
";
        assert_eq!(dry_run.text(), expected);
        let json = serde_json::to_value(&dry_run).unwrap();
        assert_eq!((&json["dry_run"], &json["counts"]["tasks"]), (&true.into(), &4.into()));
        assert_eq!(
            (&json["estimate"], &json["memory_mib"]["to sample"]),
            (&"about 9 h".into(), &3.into())
        );
    }

    #[test]
    fn a_probe_that_leaves_cores_idle_is_not_taken_for_all_of_them() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(on_cores(2.0, 1, 100, 4), 50.0), "one after another it would be 200");
        assert!(close(on_cores(2.0, 8, 100, 4), 25.0), "all were busy");
        assert!(close(on_cores(2.0, 1, 1, 1), 2.0));
        assert!(close(on_cores(2.0, 0, 0, 0), 0.0));
    }
}
