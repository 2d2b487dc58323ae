//! An empty file is the defaults, key by key.
//!
//! The list is the specification: a default that changes in a struct has to change here as well.

use crate::binary::whet_with;

/// Every key with its default, as TOML writes it.
const DEFAULTS: [(&str, &str); 102] = [
    ("seed", "42"),
    ("run.dir", "\"runs\""),
    ("run.device", "\"cpu\""),
    ("prompt.language", "\"en\""),
    ("env.kind", "\"program\""),
    ("env.max_turns", "0"),
    ("teacher.api_url", "\"http://localhost:8129/v1/chat/completions\""),
    ("teacher.model_name", "\"Qwen/Qwen3-32B-FP8\""),
    ("teacher.temperature", "0.7"),
    ("teacher.top_p", "0.8"),
    ("teacher.presence_penalty", "1.5"),
    ("teacher.enable_thinking", "true"),
    ("teacher.num_samples_per_problem", "8"),
    ("teacher.samples_per_request", "1"),
    ("teacher.max_concurrent_requests", "32"),
    ("teacher.max_tokens", "0"),
    ("teacher.api_key_env", "\"OPENAI_API_KEY\""),
    ("teacher.request_timeout_s", "600"),
    ("teacher.max_tries", "6"),
    ("student.model_name", "\"Qwen/Qwen3-1.7B\""),
    ("student.dtype", "\"bf16\""),
    ("student.load_in_8bit", "false"),
    ("lora.rank", "64"),
    ("lora.alpha", "128.0"),
    (
        "lora.target_modules",
        "[\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\", \"gate_proj\", \"up_proj\", \"down_proj\"]",
    ),
    ("sandbox.python", "\"python3\""),
    ("sandbox.workers", "0"),
    ("sandbox.min_isolation", "\"landlock\""),
    ("sandbox.cpu_seconds", "5.0"),
    ("sandbox.memory_mib", "512"),
    ("reward.composite", "\"tests\""),
    ("reward.tests", "\"auto\""),
    ("reward.form_needs_pass", "true"),
    ("reward.syntax_weight", "0.3"),
    ("reward.function_weight", "0.5"),
    ("reward.quality_weight", "0.2"),
    ("reward.quality.complexity", "0.4"),
    ("reward.quality.readability", "0.3"),
    ("reward.quality.documentation", "0.3"),
    ("grpo.algorithm", "\"custom\""),
    ("grpo.kl_coef", "0.05"),
    ("grpo.kl_estimator", "\"k3\""),
    ("grpo.kl_in", "\"loss\""),
    ("grpo.clip_range", "0.2"),
    ("grpo.clip_range_high", "0.0"),
    ("grpo.dual_clip", "0.0"),
    ("grpo.importance_cap", "0.0"),
    ("grpo.ratio", "\"token\""),
    ("grpo.advantage", "\"standard_score\""),
    ("grpo.normaliser", "\"token_mean\""),
    ("grpo.dead_groups", "\"keep\""),
    ("grpo.alive_spread", "0.01"),
    ("grpo.num_samples_per_prompt", "4"),
    ("grpo.max_completion_length", "1024"),
    ("grpo.temperature", "1.0"),
    ("grpo.num_iterations", "1"),
    ("grpo.mask_truncated_completions", "false"),
    ("grpo.dynamic_sampling_rounds", "0"),
    ("grpo.curriculum", "\"shuffled\""),
    ("grpo.patience_steps", "50"),
    ("dual_source.grpo_weight", "1.0"),
    ("dual_source.teacher_sft_weight", "0.3"),
    ("dual_source.self_sft_weight", "0.2"),
    ("dual_source.teacher_traces_per_task", "1"),
    ("dual_source.self_sft_top_k", "4"),
    ("dual_source.kl_budget", "0.0"),
    ("rm.learning_rate", "0.0001"),
    ("rm.epochs", "1"),
    ("rm.batch_size", "16"),
    ("rm.margin_scale", "1.0"),
    ("rm.center_coefficient", "0.01"),
    ("rm.held_out_fraction", "0.1"),
    ("rm.eval_steps", "10"),
    ("rm.eval_pairs", "200"),
    ("training.num_train_epochs", "3"),
    ("training.max_steps", "0"),
    ("training.per_device_train_batch_size", "2"),
    ("training.gradient_accumulation_steps", "8"),
    ("training.learning_rate", "5e-5"),
    ("training.lr_scheduler_type", "\"cosine\""),
    ("training.warmup_ratio", "0.03"),
    ("training.warmup_start", "0.1"),
    ("training.adam_beta1", "0.9"),
    ("training.adam_beta2", "0.999"),
    ("training.weight_decay", "0.0"),
    ("training.max_grad_norm", "1.0"),
    ("training.train", "\"lora\""),
    ("training.max_length", "2048"),
    ("training.include_thinking", "true"),
    ("training.gradient_checkpointing", "false"),
    ("training.save_steps", "50"),
    ("training.save_total_limit", "3"),
    ("training.watchdog_seconds", "300"),
    ("eval.k", "[1, 5, 10]"),
    ("eval.num_samples", "10"),
    ("eval.temperature", "1.0"),
    ("held_out.every_steps", "20"),
    ("held_out.max_tasks", "100"),
    ("held_out.num_samples", "1"),
    ("quickstart.train_tasks", "2000"),
    ("quickstart.held_out_tasks", "100"),
    ("quickstart.families", "[]"),
];

/// The leaves of a TOML document, with their paths, sorted.
fn leaves(table: &toml::Table, path: &str, out: &mut Vec<(String, toml::Value)>) {
    for (name, value) in table {
        let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match value {
            toml::Value::Table(inner) => leaves(inner, &key, out),
            value => out.push((key, value.clone())),
        }
    }
}

#[test]
fn an_empty_file_is_every_default_of_the_list() {
    let ran = whet_with("", &["config", "show", "config.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let mut shown = Vec::new();
    leaves(&ran.out.parse().unwrap(), "", &mut shown);
    let text: Vec<_> = DEFAULTS.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let mut listed = Vec::new();
    leaves(&text.concat().parse().unwrap(), "", &mut listed);
    assert_eq!(shown, listed);
    assert_eq!(listed.len(), DEFAULTS.len());
}
