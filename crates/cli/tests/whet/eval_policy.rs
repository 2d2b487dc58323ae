//! `whet eval --policy`: the expert and the trivial policy of an environment, measured as models are.

use serde_json::Value;

use crate::binary::whet_in;

#[test]
fn the_expert_earns_all_and_the_trivial_policy_solves_without_earning_it() {
    let dir = tempfile::tempdir().unwrap();
    let prepare = ["data", "prepare", "--solver", "60", "--out", "data"];
    assert_eq!(whet_in(dir.path(), &prepare).code, 0);
    let measured = |policy: &str| -> Value {
        let flags = ["--tasks", "data/val.jsonl", "--policy", policy, "--out", policy, "--json"];
        let ran = whet_in(dir.path(), &[&["eval"][..], &flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let [expert, trivial] = ["expert", "trivial"].map(measured);
    let reward = |found: &Value| found["episodes"]["means"]["reward"]["value"].as_f64().unwrap();
    let solved = |found: &Value| found["pass_at_k"]["1"]["value"].as_f64().unwrap();
    assert!((reward(&expert) - 1.0).abs() < 1e-9 && solved(&expert) > 0.999, "{expert}");
    assert!((0.2..0.9).contains(&reward(&trivial)) && solved(&trivial) > 0.8, "{trivial}");
    assert_eq!((&expert["model"], &expert["num_samples"]), (&"expert policy".into(), &1.into()));
    assert_eq!(expert["settings"]["--policy"], "expert");
    let compared = whet_in(dir.path(), &["eval", "compare", "trivial", "expert"]);
    assert!(compared.out.contains("  reward                   0."), "{}", compared.out);
}

#[test]
fn tasks_without_such_a_policy_are_refused_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let prepare = ["data", "prepare", "--embedded", "20", "--skip-apps"];
    assert_eq!(whet_in(dir.path(), &prepare).code, 0);
    let ran = whet_in(dir.path(), &["eval", "--policy", "trivial"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("there is no trivial policy for the task `"), "{}", ran.err);
    assert!(!dir.path().join("outputs").exists());
    let ran = whet_in(dir.path(), &["eval", "--policy", "clever"]);
    assert!(
        ran.code == 2 && ran.err.contains("policies are `expert` and `trivial`"),
        "{}",
        ran.err
    );
}
