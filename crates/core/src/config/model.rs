//! `[student]` and `[lora]`: the model and its adapter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model that is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StudentConfig {
    /// Name on the model hub, or the path of a model directory or GGUF file.
    #[schemars(length(min = 1), extend("x-aliases" = ["base"]))]
    pub model_name: String,
    /// Number format of the weights. Accepted, but without effect so far: the CPU computes in f32
    /// and a GPU in bf16, whatever is set.
    #[schemars(extend("x-aliases" = ["torch_dtype"]))]
    pub dtype: Dtype,
    /// Store the frozen weights as 8-bit integers with a scale per row. Not available with
    /// `training.train = "full"`, which has no frozen weights.
    pub load_in_8bit: bool,
}

/// Number format of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// 16 bits with the range of f32.
    #[schemars(extend("x-aliases" = ["bfloat16", "torch.bfloat16"]))]
    Bf16,
    /// 16 bits, IEEE half precision.
    #[schemars(extend("x-aliases" = ["float16", "torch.float16"]))]
    F16,
    /// 32 bits.
    #[schemars(extend("x-aliases" = ["float32", "torch.float32"]))]
    F32,
}

/// The LoRA adapter that is trained instead of the student's own weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoraConfig {
    /// Rank of the adapter.
    #[schemars(range(min = 1, max = 4096), extend("x-aliases" = ["r"]))]
    pub rank: u32,
    /// Scale of the adapter: its product is multiplied by `alpha / rank`.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-aliases" = ["lora_alpha"]))]
    pub alpha: f64,
    /// Projections with an adapter.
    #[schemars(length(min = 1))]
    pub target_modules: Vec<Module>,
}

/// A projection of a decoder layer, by its PEFT name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// Queries.
    QProj,
    /// Keys.
    KProj,
    /// Values.
    VProj,
    /// Attention output.
    OProj,
    /// Gate of the feed-forward layer.
    GateProj,
    /// Up projection of the feed-forward layer.
    UpProj,
    /// Down projection of the feed-forward layer.
    DownProj,
}

impl Default for StudentConfig {
    fn default() -> Self {
        Self { model_name: "Qwen/Qwen3-1.7B".to_owned(), dtype: Dtype::Bf16, load_in_8bit: false }
    }
}

impl Default for LoraConfig {
    fn default() -> Self {
        use Module::{DownProj, GateProj, KProj, OProj, QProj, UpProj, VProj};
        Self {
            rank: 64,
            alpha: 128.0,
            target_modules: vec![QProj, KProj, VProj, OProj, GateProj, UpProj, DownProj],
        }
    }
}
