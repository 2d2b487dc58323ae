//! Keys and values of the four documents that settings are named after: each is accepted as it stands there.
//!
//! A row is the document's own name and value, the key that it sets, and the value that this key then has. Names of flags
//! are tested with the command line.

use serde_json::{Value, json};
use whetstone_config::{Layer, load};

/// Checks that a setting, as `--set` and as a line of a file, sets `key` alone to `expected`.
#[track_caller]
fn check(written: &str, key: &str, expected: &Value) {
    let set = Layer::Set { argument: written.to_owned() };
    let loaded = load(&[set]).unwrap_or_else(|problems| panic!("{written}: {problems:?}"));
    assert_eq!(loaded.places.keys().collect::<Vec<_>>(), [key], "{written}");
    let config = serde_json::to_value(&loaded.config).expect("plain data");
    let found = key.split('.').fold(&config, |value, name| &value[name]);
    assert_eq!(found, expected, "{written}");
    let (name, value) = written.split_once('=').expect("a key and a value");
    let is_toml = toml::from_str::<toml::Table>(written).is_ok();
    let text = if is_toml { written.to_owned() } else { format!("{name} = \"{value}\"") };
    let file = Layer::File { path: "settings.toml".into(), text };
    let of_file = load(&[file]).unwrap_or_else(|problems| panic!("{written}: {problems:?}"));
    assert_eq!(of_file.config, loaded.config, "{written} in a file");
}

#[test]
fn the_names_of_teacher_guided_grpo_are_accepted() {
    let url = "http://localhost:8129/v1/chat/completions";
    check(&format!("teacher.api_url={url}"), "teacher.api_url", &json!(url));
    check(
        "teacher.model_name=Qwen/Qwen3-32B-FP8",
        "teacher.model_name",
        &json!("Qwen/Qwen3-32B-FP8"),
    );
    check("teacher.temperature=0.7", "teacher.temperature", &json!(0.7));
    check("teacher.top_p=0.8", "teacher.top_p", &json!(0.8));
    check("teacher.presence_penalty=1.5", "teacher.presence_penalty", &json!(1.5));
    check("teacher.enable_thinking=true", "teacher.enable_thinking", &json!(true));
    check("teacher.num_samples_per_problem=16", "teacher.num_samples_per_problem", &json!(16));
    check("teacher.max_concurrent_requests=32", "teacher.max_concurrent_requests", &json!(32));
    check("student.model_name=Qwen/Qwen3-1.7B", "student.model_name", &json!("Qwen/Qwen3-1.7B"));
    check("student.torch_dtype=torch.bfloat16", "student.dtype", &json!("bf16"));
    check("student.torch_dtype=bfloat16", "student.dtype", &json!("bf16"));
    check("student.load_in_8bit=true", "student.load_in_8bit", &json!(true));
    check("lora.r=64", "lora.rank", &json!(64));
    check("lora.lora_alpha=128", "lora.alpha", &json!(128.0));
    check(
        r#"lora.target_modules=["q_proj","k_proj","v_proj","o_proj","gate_proj","up_proj","down_proj"]"#,
        "lora.target_modules",
        &json!(["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]),
    );
    check("grpo.kl_coef=0.05", "grpo.kl_coef", &json!(0.05));
    check("grpo.clip_range=0.2", "grpo.clip_range", &json!(0.2));
    check("grpo.num_samples_per_prompt=4", "grpo.num_samples_per_prompt", &json!(4));
    check("dual_source.grpo_weight=1.0", "dual_source.grpo_weight", &json!(1.0));
    check("dual_source.teacher_sft_weight=0.5", "dual_source.teacher_sft_weight", &json!(0.5));
    check("dual_source.self_sft_weight=0.2", "dual_source.self_sft_weight", &json!(0.2));
    check("training.num_train_epochs=5", "training.num_train_epochs", &json!(5));
    check(
        "training.per_device_train_batch_size=1",
        "training.per_device_train_batch_size",
        &json!(1),
    );
    check(
        "training.gradient_accumulation_steps=16",
        "training.gradient_accumulation_steps",
        &json!(16),
    );
    check("training.learning_rate=5e-5", "training.learning_rate", &json!(5e-5));
}

#[test]
fn the_names_of_ppo_are_accepted() {
    check("ppo.learning_rate=1e-5", "ppo.learning_rate", &json!(1e-5));
    check("ppo.lr_scheduler=cosine", "ppo.lr_scheduler_type", &json!("cosine"));
    check("ppo.batch_size=256", "ppo.batch_size", &json!(256));
    check("ppo.mini_batch_size=32", "ppo.mini_batch_size", &json!(32));
    check("ppo.ppo_epochs=5", "ppo.ppo_epochs", &json!(5));
    check("ppo.epsilon=0.2", "ppo.epsilon", &json!(0.2));
    check("ppo.value_loss_coef=0.5", "ppo.value_loss_coef", &json!(0.5));
    check("ppo.entropy_coef=0.01", "ppo.entropy_coef", &json!(0.01));
    check("ppo.max_grad_norm=0.5", "ppo.max_grad_norm", &json!(0.5));
    check("ppo.target_kl=0.01", "ppo.target_kl", &json!(0.01));
    check("ppo.gamma=0.99", "ppo.gamma", &json!(0.99));
    check("ppo.gae_lambda=0.95", "ppo.gae_lambda", &json!(0.95));
    check("ppo.lam=0.95", "ppo.gae_lambda", &json!(0.95));
    check("ppo.max_length=512", "ppo.max_completion_length", &json!(512));
    check("ppo.min_improvement=0.01", "ppo.min_improvement", &json!(0.01));
    check("ppo.max_epochs=3", "ppo.max_epochs", &json!(3));
}

#[test]
fn the_names_of_the_solver_are_accepted() {
    let base = "Qwen/Qwen3-8B-Instruct";
    check(&format!("model.base={base}"), "student.model_name", &json!(base));
    check("lora.rank=16", "lora.rank", &json!(16));
    check("lora.alpha=32", "lora.alpha", &json!(32.0));
    check("training.batch_size=4", "training.per_device_train_batch_size", &json!(4));
    check("training.gradient_accumulation=8", "training.gradient_accumulation_steps", &json!(8));
    check("training.epochs=3", "training.num_train_epochs", &json!(3));
    check("training.warmup_ratio=0.1", "training.warmup_ratio", &json!(0.1));
    check("training.per_device_batch_size=1", "training.per_device_train_batch_size", &json!(1));
    check("training.total_steps=5000", "training.max_steps", &json!(5000));
    check("grpo.group_size=4", "grpo.num_samples_per_prompt", &json!(4));
    check("grpo.max_steps_per_episode=10", "env.max_turns", &json!(10));
}

#[test]
fn what_takes_more_than_one_gpu_is_refused_with_the_reason() {
    let text =
        "[training]\ndeepspeed = { zero_stage = 2, offload_optimizer = \"cpu\" }\n".to_owned();
    let problems = load(&[Layer::File { path: "settings.toml".into(), text }]).unwrap_err();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    let hint = problem.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("one GPU"), "{hint}");
}

#[test]
fn a_key_of_another_section_is_no_key_of_its_neighbours() {
    let set = |argument: &str| load(&[Layer::Set { argument: argument.to_owned() }]);
    assert!(set("ppo.max_steps_per_episode=10").is_err());
    let twice = "[grpo]\nmax_steps_per_episode = 3\n[env]\nmax_turns = 4\n".to_owned();
    let problems = load(&[Layer::File { path: "settings.toml".into(), text: twice }]).unwrap_err();
    assert!(problems[0].message.contains("set twice"), "{problems:?}");
}
