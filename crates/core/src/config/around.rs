//! `[run]`, `[env]`, `[sandbox]`, `[eval]`, `[held_out]` and `[quickstart]`: the small sections
//! around the pipeline.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judgement::Isolation;

/// The folder of runs, the device that models run on, and live metrics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The folder that holds one directory per run.
    #[schemars(length(min = 1))]
    pub dir: String,
    /// Device that models run on: `cpu`, `cuda:N` (the NVIDIA GPU with this index), or `auto` (the
    /// first working GPU, otherwise the CPU). Results on the CPU are the same on every machine; a
    /// GPU computes in bf16, so its results differ.
    #[schemars(length(min = 1))]
    pub device: String,
    /// Whether a training writes its metrics for TensorBoard while it runs: an event file in
    /// `tensorboard` in the run's directory, extended after every step. `whet runs tensorboard`
    /// writes the same file afterwards.
    pub tensorboard: bool,
}

/// The device that a model runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first working GPU, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The NVIDIA GPU with this index.
    Cuda(u32),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten()
        };
        match (text, text.strip_prefix("cuda:").and_then(number)) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda(0)),
            (_, Some(index)) => Ok(Self::Cuda(index)),
            _ => Err("expected `auto`, `cpu`, `cuda` or `cuda:N`".to_owned()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl RunConfig {
    /// The configured device.
    ///
    /// # Errors
    ///
    /// If the setting does not name a device.
    pub fn device(&self) -> Result<DeviceChoice, String> {
        self.device.parse()
    }
}

/// The environment in which replies are judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnvConfig {
    /// Environment of tasks that do not name one; `program` runs programs against their tests. A
    /// task with tests always uses `program`, and a task with a `body` uses the environment that
    /// the body names.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Maximum turns of an episode; 0 uses the environment's own maximum (1 for programs, 10 for `solver`).
    #[schemars(range(max = 1000), extend("x-aliases" = ["max_steps_per_episode", "grpo.max_steps_per_episode"]))]
    pub max_turns: u32,
    /// Whether a conversation begins with the rules of its environment, as a system message, where the
    /// environment has rules (`solver`). Models that were trained on expert rows do not need them.
    pub rules: bool,
}

/// The sandbox that programs run in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// The interpreter for Python programs: a command on the `PATH`, or a path.
    #[schemars(length(min = 1))]
    pub python: String,
    /// Programs that compute at the same time; 0 means one per core. A sleeping program does not
    /// occupy a core.
    #[schemars(range(max = 1024))]
    pub workers: u32,
    /// Minimum isolation of programs: `full` is fresh namespaces, Landlock, a system call filter
    /// and resource limits; `landlock` is the same without namespaces; `rlimit` is the filter and
    /// the limits only. `whet doctor` shows which level this machine supports.
    pub min_isolation: Isolation,
    /// CPU seconds for a program with all its tests. Where each test is a run of its own, the limit
    /// applies to each run, and four times the limit to all runs together.
    #[schemars(range(min = 0.1, max = 3600.0))]
    pub cpu_seconds: f64,
    /// Memory limit of a program, in MiB.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub memory_mib: u32,
}

/// How `whet eval` samples and reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvalConfig {
    /// Values of k for which pass@k is reported. If they are not set, those above `num_samples` are left out.
    #[schemars(length(min = 1), inner(range(min = 1)))]
    pub k: Vec<u32>,
    /// Completions per task; at least the largest k.
    #[schemars(range(min = 1, max = 10_000), extend("x-aliases" = ["n_samples"]))]
    pub num_samples: u32,
    /// Sampling temperature; 1 samples the model's own distribution, 0 is greedy.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub temperature: f64,
    /// Further temperatures, at each of which every task is sampled as often again: pass@k of each stands beside that at
    /// `temperature` and greedy decoding, so that a gain is told from sharpening. The figures of programs are those at
    /// `temperature`.
    #[schemars(inner(range(min = 0.01, max = 10.0)))]
    pub more_temperatures: Vec<f64>,
    /// What is judged of a Python program: `off` is all of it; `entry_point` is its imports, and the functions,
    /// classes and assignments that the tests reach. Asserts, prints and calls of the program's own are left out,
    /// as EvalPlus does. Whole programs that read standard input are judged as they are. Rewards of a training
    /// always judge all of a program.
    pub sanitize: Sanitize,
}

/// What is judged of a program in an evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sanitize {
    /// All of it.
    #[default]
    Off,
    /// What its entry point needs.
    EntryPoint,
}

/// Evaluation during training, on the held-out tasks that the command names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeldOutConfig {
    /// Steps between evaluations, before the first step and after the last too; 0 turns evaluation off.
    #[schemars(extend("x-aliases" = ["eval_steps"]))]
    pub every_steps: u32,
    /// Maximum number of tasks; a random subset is chosen by the seed if there are more.
    #[schemars(range(min = 1))]
    pub max_tasks: u32,
    /// Completions per task, sampled with the settings of rollouts.
    #[schemars(range(min = 1, max = 1000))]
    pub num_samples: u32,
    /// Where `whet train grpo` or `whet train ppo` is given no held-out tasks: the part of its tasks that is held
    /// out, at most 50 of them, chosen by the seed and never trained on. Files of fewer than 200 tasks are
    /// trained on whole; 0 holds none out.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub split: f64,
}

/// The tasks that `whet quickstart` generates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuickstartConfig {
    /// Maximum number of training tasks; fewer are generated if the steps need fewer.
    #[schemars(range(min = 1, max = 20_000))]
    pub train_tasks: u32,
    /// Number of held-out tasks. None has the composition of a training task.
    #[schemars(range(min = 1, max = 5_000))]
    pub held_out_tasks: u32,
    /// Families that tasks are generated from; an empty list means all.
    pub families: Vec<String>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self { dir: "runs".to_owned(), device: "cpu".to_owned(), tensorboard: false }
    }
}

impl Default for EnvConfig {
    fn default() -> Self {
        Self { kind: crate::task::PROGRAM.to_owned(), max_turns: 0, rules: true }
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            python: "python3".to_owned(),
            workers: 0,
            min_isolation: Isolation::Landlock,
            cpu_seconds: 5.0,
            memory_mib: 512,
        }
    }
}

impl Default for EvalConfig {
    fn default() -> Self {
        Self {
            k: vec![1, 5, 10],
            num_samples: 10,
            temperature: 1.0,
            more_temperatures: Vec::new(),
            sanitize: Sanitize::Off,
        }
    }
}

impl EvalConfig {
    /// The further temperatures, each once and without that of `temperature`.
    pub fn further_temperatures(&self) -> Vec<f64> {
        let mut further = Vec::new();
        for &temperature in &self.more_temperatures {
            let is_known = |known: &f64| (known - temperature).abs() <= 0.0;
            if !is_known(&self.temperature) && !further.iter().any(is_known) {
                further.push(temperature);
            }
        }
        further
    }
}

impl Default for HeldOutConfig {
    fn default() -> Self {
        Self { every_steps: 20, max_tasks: 200, num_samples: 4, split: 0.1 }
    }
}

impl Default for QuickstartConfig {
    fn default() -> Self {
        Self { train_tasks: 2000, held_out_tasks: 100, families: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_further_temperature_counts_once_and_never_beside_itself() {
        let more_temperatures = vec![0.6, 1.0, 0.6, 0.2];
        let config = EvalConfig { more_temperatures, ..EvalConfig::default() };
        assert_eq!(config.further_temperatures(), [0.6, 0.2]);
    }

    #[test]
    fn a_device_is_named_as_it_is_shown() {
        for name in ["auto", "cpu", "cuda:0", "cuda:7"] {
            assert_eq!(
                name.parse::<DeviceChoice>().map(|choice| choice.to_string()),
                Ok(name.into())
            );
        }
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        for wrong in
            ["", "gpu", "CPU", "cuda:", "cuda:-1", "cuda:+1", "cuda:1 ", "cuda:99999999999"]
        {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
        assert_eq!(RunConfig::default().device(), Ok(DeviceChoice::Cpu));
    }
}
