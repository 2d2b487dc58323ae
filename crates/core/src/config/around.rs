//! `[run]`, `[prompt]`, `[env]`, `[sandbox]`, `[eval]`, `[held_out]` and `[quickstart]`: the small sections
//! around the pipeline.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judgement::Isolation;

/// Where runs are kept, and where models are computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The folder with one directory for each run.
    #[schemars(length(min = 1))]
    pub dir: String,
    /// What computes the model: `cpu`, `cuda:N` (the GPU of NVIDIA's with this number), or `auto`: the
    /// first GPU that works, else the CPU. The CPU's figures are the same on every machine; a GPU
    /// computes in bf16, so its figures are others.
    #[schemars(length(min = 1))]
    pub device: String,
}

/// What computes a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU that works, else the CPU.
    Auto,
    /// This machine's processors.
    Cpu,
    /// The GPU of NVIDIA's with this number.
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
    /// The device that is asked for.
    ///
    /// # Errors
    ///
    /// If the setting names none.
    pub fn device(&self) -> Result<DeviceChoice, String> {
        self.device.parse()
    }
}

/// What the model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptConfig {
    /// Language of the template around the problem; the problem itself stays as it is.
    pub language: PromptLanguage,
}

/// Language of the template around a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptLanguage {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// The environment in which replies are judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnvConfig {
    /// The environment of tasks that name none: `program` judges programs by their tests. A task with tests
    /// is always a program's, and one with a `body` is for the environment that the body names.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Turns of an episode at most; 0 means as many as the environment allows by itself (1 for programs).
    #[schemars(range(max = 1000))]
    pub max_turns: u32,
}

/// Where programs run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SandboxConfig {
    /// The interpreter for Python programs: a command on the `PATH`, or a path.
    #[schemars(length(min = 1))]
    pub python: String,
    /// Programs that compute at the same time; 0 means one for each core. A program that sleeps leaves
    /// its core to another one.
    #[schemars(range(max = 1024))]
    pub workers: u32,
    /// The weakest isolation with which a program may run: `full` is fresh namespaces, Landlock, a
    /// system call filter and resource limits; `landlock` is these without namespaces; `rlimit` is
    /// the filter and the limits alone. `whet doctor` says which one this machine gives.
    pub min_isolation: Isolation,
    /// Seconds of CPU time for a program with all its tests; for each test where a test is a run of
    /// its own, and four times as much for all of them.
    #[schemars(range(min = 0.1, max = 3600.0))]
    pub cpu_seconds: f64,
    /// Mebibytes of memory for a program.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub memory_mib: u32,
}

/// How a model is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvalConfig {
    /// Values of k for which pass@k is reported.
    #[schemars(length(min = 1), inner(range(min = 1)))]
    pub k: Vec<u32>,
    /// Completions of each task; at least the largest k.
    #[schemars(range(min = 1, max = 10_000), extend("x-aliases" = ["n_samples"]))]
    pub num_samples: u32,
    /// Sampling temperature; 1 draws from the model itself, 0 always takes the likeliest token.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub temperature: f64,
}

/// What a training is measured by while it goes on, where held-out tasks are named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeldOutConfig {
    /// Steps from one measurement to the next, the first before the first step; 0 measures never.
    #[schemars(extend("x-aliases" = ["eval_steps"]))]
    pub every_steps: u32,
    /// Tasks at most; of more, the seed chooses.
    #[schemars(range(min = 1))]
    pub max_tasks: u32,
    /// Completions of each task, sampled as rollouts are.
    #[schemars(range(min = 1, max = 1000))]
    pub num_samples: u32,
}

/// What `whet quickstart` makes tasks of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuickstartConfig {
    /// Tasks to learn from at most; fewer are made if the steps take fewer.
    #[schemars(range(min = 1, max = 20_000))]
    pub train_tasks: u32,
    /// Tasks to measure with. None is composed as one to learn from is.
    #[schemars(range(min = 1, max = 5_000))]
    pub held_out_tasks: u32,
    /// Families that tasks are composed in; an empty list takes all.
    pub families: Vec<String>,
}

impl Default for RunConfig {
    fn default() -> Self {
        Self { dir: "runs".to_owned(), device: "cpu".to_owned() }
    }
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self { language: PromptLanguage::En }
    }
}

impl Default for EnvConfig {
    fn default() -> Self {
        Self { kind: crate::task::PROGRAM.to_owned(), max_turns: 0 }
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
        Self { k: vec![1, 5, 10], num_samples: 10, temperature: 1.0 }
    }
}

impl Default for HeldOutConfig {
    fn default() -> Self {
        Self { every_steps: 20, max_tasks: 100, num_samples: 1 }
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
