//! `whet config show|check`: every problem at once, each with its place, its key and a hint.

use whetstone_config::{Layer, load, show};
use whetstone_core::config::Algorithm;

use crate::binary::{Ran, whet_in, whet_with};

#[track_caller]
fn check(config: impl AsRef<[u8]>, expected: &[&str]) {
    let Ran { code, out, err } = whet_with(config, &["config", "check", "config.toml"]);
    assert_eq!(code, 2, "{out}{err}");
    let lines: Vec<_> = out.lines().filter(|line| !line.starts_with("  hint:")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn five_mistakes_are_five_problems_in_one_run() {
    let config = "\
        learning_rate = 1e-4\n\
        [grpo]\n\
        kl_cof = 0.1\n\
        num_samples_per_prompt = 1\n\
        [teacher]\n\
        temperature = \"hot\"\n\
        [student]\n\
        dtype = \"fp16\"\n";
    check(
        config,
        &[
            "config.toml:1:1: `learning_rate`: unknown key",
            "config.toml:3:1: `grpo.kl_cof`: unknown key",
            "config.toml:4:26: `grpo.num_samples_per_prompt`: is 1, \
             expected a whole number at least 2 and at most 10000",
            "config.toml:6:15: `teacher.temperature`: is text \"hot\", \
             expected a number at least 0 and at most 2",
            "config.toml:8:9: `student.dtype`: is text \"fp16\", \
             expected one of `bf16`, `f16`, `f32`",
        ],
    );
    let ran = whet_with(config, &["config", "check", "config.toml"]);
    assert!(ran.out.contains("hint: did you mean `training.learning_rate`?"), "{}", ran.out);
    assert!(ran.out.contains("hint: did you mean `grpo.kl_coef`?"), "{}", ran.out);
    assert!(ran.err.contains("error: the config has 5 problems"), "{}", ran.err);
}

/// The settings of the solver's document, as it names them.
#[test]
fn names_of_other_tools_are_understood_in_their_sections() {
    let config = "\
        [model]\n\
        base = \"models/student\"\n\
        torch_dtype = \"bfloat16\"\n\
        [grpo]\n\
        group_size = 4\n\
        max_steps_per_episode = 10\n\
        kl_coef = 0.01\n\
        [training]\n\
        per_device_batch_size = 1\n\
        gradient_accumulation = 32\n\
        total_steps = 5000\n\
        epochs = 3\n";
    let ran = whet_with(config, &["config", "show", "config.toml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    for line in [
        "model_name = \"models/student\"",
        "dtype = \"bf16\"",
        "num_samples_per_prompt = 4",
        "max_turns = 10",
        "per_device_train_batch_size = 1",
        "gradient_accumulation_steps = 32",
        "max_steps = 5000",
        "num_train_epochs = 3",
    ] {
        assert!(ran.out.contains(line), "{line}\n{}", ran.out);
    }
    let other = "[ppo]\nmax_steps_per_episode = 10\n[training]\ndeepspeed = \"zero2\"\n";
    let ran = whet_with(other, &["config", "check", "config.toml"]);
    assert!(ran.out.contains("hint: did you mean `env.max_turns`?"), "{}", ran.out);
    assert!(ran.out.contains("hint: whet trains on one GPU"), "{}", ran.out);
}

#[test]
fn problems_come_as_json_for_scripts() {
    let ran = whet_with("sead = 1", &["config", "check", "config.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, report["ok"].as_bool()), (2, Some(false)));
    let problem = &report["problems"][0];
    assert_eq!(problem["key"], "sead");
    assert_eq!(problem["place"]["line"], 1);
    assert_eq!(problem["hint"], "did you mean `seed`?");
}

#[test]
fn a_reward_that_pays_a_stub_is_warned_of_with_its_figure_and_is_no_problem() {
    let bare = "[reward]\ncomposite = \"weighted_sum\"\nform_needs_pass = false\n";
    let ran = whet_with(bare, &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let expected = "warning: config.toml:3:19: `reward.form_needs_pass`: a stub that parses and \
                    solves nothing is paid up to 0.50 of 1.00\n  hint: ";
    assert!(ran.out.starts_with(expected), "{}", ran.out);
    assert!(ran.err.contains("ok: the config has 0 problems"), "{}", ran.err);
    let set = ["--set", "reward.quality_weight=0.4", "--json"];
    let ran = whet_with(bare, &[&["config", "check", "config.toml"][..], &set].concat());
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["ok"], &report["problems"]), (&true.into(), &serde_json::json!([])));
    let message = report["warnings"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("paid up to 0.70 of 1.20"), "{message}");
    let ran = whet_with("", &["config", "check", "config.toml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn a_number_format_that_nothing_computes_in_is_warned_of() {
    let ran = whet_with("[student]\ndtype = \"f16\"\n", &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("warning: config.toml:2:9: `student.dtype`: has no effect so far"));
    let ran = whet_with("[student]\ndtype = \"bf16\"\n", &["config", "check", "config.toml"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[test]
fn what_grpo_refuses_is_a_problem_of_a_config_for_it_and_else_said_with_the_command() {
    check(
        "[grpo]\nnum_samples_per_prompt = 6\n",
        &[
            "config.toml:2:26: `grpo.num_samples_per_prompt`: `whet train grpo` refuses this: a step has \
           2 × 8 = 16 sequences, which are no whole groups of 6",
        ],
    );
    let short = "[training]\nmax_length = 640\n";
    let ran = whet_with(short, &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 0, "`whet train sft` takes it: {}", ran.err);
    let warned =
        "warning: `grpo.max_completion_length`: `whet train grpo` refuses this: 1024 tokens";
    assert!(ran.out.starts_with(warned), "{}", ran.out);
    let said = "ok: the config has 0 problems, but `whet train grpo` refuses it\n";
    assert!(ran.err.contains(said), "{}", ran.err);
    let ran = whet_with(short, &["config", "check", "config.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["ok"], &report["refused_by"]), (&true.into(), &"whet train grpo".into()));
    let ran = whet_with("", &["config", "check", "config.toml"]);
    assert!(ran.err.contains("ok: the config has 0 problems\n"), "{}", ran.err);
}

#[test]
fn values_far_from_the_usual_are_warned_of_at_their_places() {
    let far = "[grpo]\ntemperature = 5.0\n[training]\nlearning_rate = 0.5\n";
    let ran = whet_with(far, &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 0, "an experiment may want them: {}", ran.err);
    for expected in [
        "warning: config.toml:4:17: `training.learning_rate`: a learning rate of 0.5 is far above",
        "warning: config.toml:2:15: `grpo.temperature`: a temperature of 5 makes unlikely tokens",
    ] {
        assert!(ran.out.contains(expected), "{}", ran.out);
    }
}

#[test]
fn eight_bit_weights_and_training_all_of_them_contradict_each_other() {
    check(
        "[student]\nload_in_8bit = true\n[training]\ntrain = \"full\"\n",
        &[
            "config.toml:2:16: `student.load_in_8bit`: 8-bit weights are frozen, and `training.train = \
           \"full\"` trains every weight",
        ],
    );
}

#[test]
fn wrong_types_and_shapes_are_named() {
    check(
        "lora = 3\n[eval]\nk = [1, 0]\n[training]\nnum_train_epochs = 2.5\n[grpo]\nkl_coef = nan\n\
         [dual_source]\ngrpo = inf\n",
        &[
            "config.toml:1:8: `lora`: is number 3, expected a section with keys of its own",
            "config.toml:3:5: `eval.k`: item 2: is 0, expected a whole number at least 1",
            "config.toml:5:20: `training.num_train_epochs`: is number 2.5, \
             expected a whole number at least 1",
            "config.toml:7:11: `grpo.kl_coef`: is nan, expected a number at least 0",
            "config.toml:9:8: `dual_source.grpo_weight`: is inf, expected a number at least 0",
        ],
    );
}

#[test]
fn broken_toml_is_reported_beside_what_can_still_be_read() {
    let ran = whet_with("seed = = 3\n[grpo]\nkl_cof = 1\n", &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("config.toml:1:8: `seed`: not TOML"), "{}", ran.out);
    assert!(ran.out.contains("config.toml:3:1: `grpo.kl_cof`: unknown key"), "{}", ran.out);
}

#[test]
fn one_slip_in_the_toml_is_one_problem_with_its_key() {
    let slips = [
        ("seed =\n[lora]\nrank = 0\n", "config.toml:1:7: `seed`: not TOML: "),
        ("[lora]\nrank = 3 4\n", "config.toml:2:8: `lora.rank`: not TOML: "),
        ("[run]\ndir = \"runs\n", "config.toml:2:12: `run.dir`: not TOML: "),
        ("seed: 3 4\n[lora]\n", "config.toml:1:5: not TOML: "),
    ];
    for (config, expected) in slips {
        let ran = whet_with(config, &["config", "check", "config.toml"]);
        let slips: Vec<_> = ran.out.lines().filter(|line| line.contains("not TOML")).collect();
        assert_eq!(slips.len(), 1, "{}", ran.out);
        assert!(slips[0].starts_with(expected), "{}", ran.out);
        let others = ran.out.lines().filter(|line| line.starts_with("config.toml:")).count() - 1;
        assert_eq!(others, usize::from(config.contains("rank = 0")), "{}", ran.out);
    }
}

#[test]
fn yaml_is_called_yaml_and_its_key_is_shown_in_toml() {
    let yaml = "# mine\ntraining:\n  learning_rate: 1e-4\n  num_train_epochs: 2\nseed: 3\n";
    check(
        yaml,
        &["config.toml:3:1: `training.learning_rate`: this is YAML, and settings are TOML"],
    );
    let ran = whet_with(yaml, &["train", "grpo", "--run", "r", "--config", "config.toml"]);
    assert_eq!(ran.code, 2);
    let hint = "  hint: in TOML this key is `training.learning_rate = 1e-4`\n";
    assert!(ran.err.contains(hint), "{}", ran.err);
}

#[test]
fn a_key_that_stands_twice_is_a_problem() {
    let ran = whet_with("seed = 1\nseed = 2\n", &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("config.toml:2:1: `seed`: not TOML: duplicate key"), "{}", ran.out);
    check(
        "[lora]\nr = 8\nrank = 16\n",
        &["config.toml:3:8: `lora.rank`: set twice, under this name and under another"],
    );
}

#[test]
fn files_that_are_no_config_are_named() {
    check(b"seed = 1\n# \xff\n", &["config.toml:2:1: not UTF-8 at byte 11, expected a TOML file"]);
    check(
        "#".repeat(2 << 20),
        &["config.toml: longer than 1 MiB, expected a TOML file of settings"],
    );
    let folder = tempfile::tempdir().unwrap();
    let ran = whet_in(folder.path(), &["config", "check", "none.toml", "--set", "sed=1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.starts_with("none.toml: cannot read: No such file"), "{}", ran.out);
    assert!(ran.out.contains("--set sed=1: `sed`: unknown key"), "{}", ran.out);
}

#[test]
fn a_hostile_config_ends_quickly_and_clearly() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let ran = whet_with(deep, &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("recurs"), "{}", &ran.out[..ran.out.len().min(300)]);
    let many: Vec<_> = (0..60_000).map(|n| format!("k{n} = 1\n")).collect();
    let ran = whet_with(many.concat(), &["config", "check", "config.toml"]);
    assert_eq!((ran.code, ran.out.matches("unknown key").count()), (2, 200));
    let ran = whet_with("a = =\n".repeat(150_000), &["config", "check", "config.toml"]);
    assert_eq!((ran.code, ran.out.matches("not TOML").count()), (2, 200));
}

#[test]
fn problems_between_keys_are_reported_with_the_others() {
    check(
        "[dual_source]\ngrpo = 0\nteacher_sft = 0\nself_sft = 0\n[eval]\nk = [1, 1]\n[lora]\nx = 1\n",
        &[
            "config.toml:8:1: `lora.x`: unknown key",
            "config.toml:4:12: `dual_source`: all four weights are 0: \
             there is nothing to learn from",
            "config.toml:6:5: `eval.k`: a value stands twice",
        ],
    );
}

#[test]
fn an_algorithm_sets_what_nobody_sets_and_says_so() {
    let config = "[grpo]\nalgorithm = \"dapo\"\nkl_coef = 0.01\n";
    let given = ["grpo.ratio=token", "dual_source.self_sft_weight=0.1"];
    let shown = ["config", "show", "config.toml", "--set", given[0], "--set", given[1]];
    let ran = whet_with(config, &shown);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in [
        "algorithm = \"dapo\"  # config.toml:2:13",
        "dead_groups = \"leave_out\"  # grpo.algorithm = dapo",
        "mini_batches = 4  # grpo.algorithm = dapo",
        "teacher_sft_weight = 0.0  # grpo.algorithm = dapo",
        "self_sft_weight = 0.1  # --set dual_source.self_sft_weight=0.1",
        "clip_range_high = 0.28  # grpo.algorithm = dapo",
        "dynamic_sampling_rounds = 9  # grpo.algorithm = dapo",
        "normaliser = \"token_mean\"  # grpo.algorithm = dapo",
        "kl_coef = 0.01  # config.toml:3:11",
        "ratio = \"token\"  # --set grpo.ratio=token",
        "temperature = 1.0",
    ] {
        assert!(ran.out.lines().any(|shown| shown == line), "{line}\n{}", ran.out);
    }
    // What is shown reads back the same: every key is set there.
    let layer = Layer::File { path: "c.toml".into(), text: ran.out };
    let read = load(&[layer]).unwrap().config.grpo;
    assert!((read.clip_range_high - 0.28).abs() < 1e-12 && (read.kl_coef - 0.01).abs() < 1e-12);
}

#[test]
fn every_named_algorithm_is_checked_and_its_contradictions_are_named() {
    for algorithm in Algorithm::named() {
        let config = format!("grpo.algorithm = {:?}\n", algorithm.name());
        let ran = whet_with(&config, &["config", "check", "config.toml"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}: {}", algorithm.name(), ran.err);
        let loaded =
            load(&[Layer::Set { argument: format!("grpo.algorithm={}", algorithm.name()) }]);
        assert_eq!(loaded.unwrap().config.grpo, algorithm.settings());
    }
    check(
        "[grpo]\nalgorithm = \"gspo\"\nratio = \"token\"\nkl_estimator = \"k1\"\nkl_coef = 0.1\n",
        &[
            "config.toml:3:9: `grpo.ratio`: `gspo` needs `sequence`, and it is set to `token`",
            "config.toml:4:16: `grpo.kl_estimator`: `k1` in the loss holds nothing back: the gradient \
             of its mean is 0",
        ],
    );
    let ran = whet_with("grpo.ratio = \"sequence\"\n", &["config", "check", "config.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.starts_with("warning: `grpo.clip_range`: the ratio of a sequence"),
        "{}",
        ran.out
    );
}

#[test]
fn a_later_layer_wins_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), "seed = 1\n[lora]\nr = 8\nalpha = 16\n").unwrap();
    std::fs::write(folder.path().join("b.toml"), "[lora]\nrank = 4\n").unwrap();
    let args =
        ["config", "show", "a.toml", "b.toml", "--set", "seed=3", "--set", "run.dir=my runs"];
    let ran = whet_in(folder.path(), &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for line in [
        "seed = 3  # --set seed=3",
        "rank = 4  # b.toml:2:8",
        "alpha = 16.0  # a.toml:4:9",
        "dir = \"my runs\"  # --set run.dir=my runs",
        "kl_coef = 0.05",
    ] {
        assert!(ran.out.lines().any(|shown| shown == line), "{line}\n{}", ran.out);
    }
}

#[test]
fn set_takes_toml_and_plain_text() {
    let set = |arguments: &[&str]| {
        let layers: Vec<_> =
            arguments.iter().map(|&a| Layer::Set { argument: a.to_owned() }).collect();
        load(&layers).map(|loaded| loaded.config)
    };
    let config = set(&[
        "student.model_name=Qwen/Qwen2.5-Coder-1.5B",
        "teacher.model_name=\"quoted\"",
        "sandbox.python=3",
        "eval.k=[1, 10]",
        "teacher.enable_thinking=false",
        "training.learning_rate=1e-4",
        "student.dtype=f16",
    ])
    .unwrap();
    assert_eq!(config.student.model_name, "Qwen/Qwen2.5-Coder-1.5B");
    assert_eq!(config.teacher.model_name, "quoted");
    assert_eq!(config.sandbox.python, "3");
    assert_eq!(config.eval.k, [1, 10]);
    assert!(!config.teacher.enable_thinking);
    assert!((config.training.learning_rate - 1e-4).abs() < 1e-18);
    for bad in ["seed", "seed=x", "seed.x=1", "lora=1", "eval.k=1", "=1", "a=1"] {
        let problems = set(&[bad]).unwrap_err();
        assert_eq!(problems.len(), 1, "{bad}: {problems:?}");
        assert!(problems[0].hint.is_some(), "{bad}: {problems:?}");
    }
}

#[test]
fn a_setting_with_a_newline_in_it_can_be_shown_and_read_back() {
    let loaded = load(&[Layer::Set { argument: "run.dir=a\nb".to_owned() }]).unwrap();
    assert_eq!(loaded.config.run.dir, "a\nb");
    let layer = Layer::File { path: "shown.toml".into(), text: show(&loaded) };
    assert_eq!(load(&[layer]).unwrap().config, loaded.config);
}
