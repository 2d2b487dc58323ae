//! `[teacher]`: the server that writes reasoning traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server that writes reasoning traces for the student to learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherConfig {
    /// Address of an OpenAI-compatible server: its base, such as `http://localhost:8129/v1`, or the whole address of
    /// its chat completions.
    #[schemars(length(min = 1))]
    pub api_url: String,
    /// Name of the model on the server.
    #[schemars(length(min = 1))]
    pub model_name: String,
    /// Names of several models on the server, each asked about every task; empty asks `model_name` alone.
    pub models: Vec<String>,
    /// Fields of a request that the server knows.
    pub api: TeacherApi,
    /// Sampling temperature; 0 is greedy.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: f64,
    /// Nucleus sampling: sample from the most probable tokens whose probabilities sum to this.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub top_p: f64,
    /// Penalty on the logit of every token that has already occurred.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub presence_penalty: f64,
    /// Request thinking before the answer, sent as `chat_template_kwargs.enable_thinking`. A
    /// truncated reply without an end of thinking then counts as thinking and holds no program; set
    /// this to false for a model that does not think.
    pub enable_thinking: bool,
    /// Traces sampled for each problem.
    #[schemars(range(min = 1, max = 10_000))]
    pub num_samples_per_problem: u32,
    /// Samples per request, sent as `n`. With 1, every sample has its own seed and is retried on
    /// its own; more save prefill on servers without a prefix cache.
    #[schemars(range(min = 1, max = 1024))]
    pub samples_per_request: u32,
    /// Maximum number of concurrent requests.
    #[schemars(range(min = 1, max = 4096))]
    pub max_concurrent_requests: u32,
    /// Maximum tokens of a trace; 0 uses the server's limit.
    #[schemars(range(max = 1_000_000))]
    pub max_tokens: u32,
    /// Environment variable that may hold the API key. The key itself is never written to a file.
    #[schemars(length(min = 1))]
    pub api_key_env: String,
    /// Timeout of one attempt in seconds, from sending the request to the end of the response.
    #[schemars(range(min = 1, max = 86_400))]
    pub request_timeout_s: u32,
    /// Maximum attempts for a request when the server is busy, slow or failing.
    #[schemars(range(min = 1, max = 100))]
    pub max_tries: u32,
    /// Maximum turns of an episode that becomes a row of SFT data; a solved episode with more is counted as
    /// too long.
    #[schemars(range(min = 1, max = 1000))]
    pub max_kept_turns: u32,
    /// Minimum reward of an episode of several turns that becomes a row of SFT data; 0 keeps all that are solved. In `solver`,
    /// dropping the first row of the IIS makes most models feasible, for a reward of about 0.4.
    #[schemars(range(min = 0.0))]
    pub min_kept_reward: f64,
}

/// Which fields a request has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeacherApi {
    /// The sampling settings, `max_tokens` and `chat_template_kwargs`, as `vLLM` and `SGLang` take them.
    #[default]
    Vllm,
    /// For hosted reasoning models, which refuse these: `max_completion_tokens`, and no sampling settings.
    Openai,
}

impl TeacherConfig {
    /// The models to ask: `models`, or `model_name` alone.
    pub fn asked_models(&self) -> Vec<&str> {
        match self.models.as_slice() {
            [] => vec![&self.model_name],
            several => several.iter().map(String::as_str).collect(),
        }
    }
}

impl Default for TeacherConfig {
    fn default() -> Self {
        Self {
            api_url: "http://localhost:8129/v1/chat/completions".to_owned(),
            model_name: "Qwen/Qwen3-32B-FP8".to_owned(),
            models: Vec::new(),
            api: TeacherApi::Vllm,
            temperature: 0.7,
            top_p: 0.8,
            presence_penalty: 1.5,
            enable_thinking: true,
            num_samples_per_problem: 8,
            samples_per_request: 1,
            max_concurrent_requests: 32,
            max_tokens: 0,
            api_key_env: "OPENAI_API_KEY".to_owned(),
            request_timeout_s: 600,
            max_tries: 6,
            max_kept_turns: 5,
            min_kept_reward: 0.0,
        }
    }
}
