//! `[teacher]`: the server that writes reasoning traces.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server that writes reasoning traces for the student to learn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TeacherConfig {
    /// Address of the chat-completions endpoint of an OpenAI-compatible server.
    #[schemars(length(min = 1))]
    pub api_url: String,
    /// Name of the model, as the server knows it.
    #[schemars(length(min = 1))]
    pub model_name: String,
    /// Sampling temperature; 0 is greedy.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: f64,
    /// Only the likeliest tokens whose probabilities add up to this are sampled.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub top_p: f64,
    /// What a token loses for having been used before.
    #[schemars(range(min = -2.0, max = 2.0))]
    pub presence_penalty: f64,
    /// Ask for thinking before the answer, sent as `chat_template_kwargs.enable_thinking`. A reply that
    /// was cut off without any sign of where its thinking ends then is all thinking, and holds no
    /// program; set it to false for a model that does not think.
    pub enable_thinking: bool,
    /// Traces sampled for each problem.
    #[schemars(range(min = 1, max = 10_000))]
    pub num_samples_per_problem: u32,
    /// Samples that one request asks for, as `n`. With 1 every sample has a seed and a fate of its
    /// own; more spare the server reading the prompt again, where it does not remember prompts.
    #[schemars(range(min = 1, max = 1024))]
    pub samples_per_request: u32,
    /// Requests in flight at a time.
    #[schemars(range(min = 1, max = 4096))]
    pub max_concurrent_requests: u32,
    /// Tokens of one trace at most; 0 leaves it to the server.
    #[schemars(range(max = 1_000_000))]
    pub max_tokens: u32,
    /// The environment variable that may hold the server's key. The key itself is never written
    /// anywhere.
    #[schemars(length(min = 1))]
    pub api_key_env: String,
    /// Seconds that one try may take, from sending the request to the whole answer.
    #[schemars(range(min = 1, max = 86_400))]
    pub request_timeout_s: u32,
    /// Times that one request is sent at most when the server is busy, slow or broken.
    #[schemars(range(min = 1, max = 100))]
    pub max_tries: u32,
}

impl Default for TeacherConfig {
    fn default() -> Self {
        Self {
            api_url: "http://localhost:8129/v1/chat/completions".to_owned(),
            model_name: "Qwen/Qwen3-32B-FP8".to_owned(),
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
        }
    }
}
