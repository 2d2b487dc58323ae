//! Stage files and their plans: order, inputs, and what is refused.

use super::*;

fn plan(text: &str) -> Result<Plan, String> {
    let text = text.replace("STAGE", "[[stage]]\nkind =");
    let file = StageFile::parse("f.toml".into(), text).unwrap();
    Plan::new(file, &[]).map_err(|err| err.details().join("\n"))
}

fn inputs(plan: &Plan, name: &str) -> Vec<String> {
    let stage = &plan.stages[plan.find(name).unwrap()];
    let text = |origin: &Origin| match origin {
        Origin::Stage(name) => name.clone(),
        Origin::Path(path) => path.display().to_string(),
    };
    let mut all: Vec<String> =
        stage.inputs.iter().map(|(what, from)| format!("{}={}", what.name(), text(from))).collect();
    all.sort();
    all
}

#[test]
fn inputs_are_those_of_the_nearest_stage_before() {
    let plan = plan(
        "STAGE 'data'\nSTAGE 'validate'\nSTAGE 'teach'\nSTAGE 'sft'\nSTAGE 'grpo'\nSTAGE 'eval'\n",
    )
    .unwrap();
    assert_eq!(inputs(&plan, "teach"), ["tasks=validate"]);
    assert_eq!(inputs(&plan, "sft"), ["traces=teach"]);
    let grpo = ["held_out=data", "model=sft", "tasks=validate", "traces=teach"];
    assert_eq!(inputs(&plan, "grpo"), grpo);
    assert_eq!(inputs(&plan, "eval"), ["held_out=data", "model=grpo"]);
}

#[test]
fn a_branch_takes_what_stands_on_its_own_line() {
    let plan = plan(
        "STAGE 'data'\nSTAGE 'eval'\nname = 'before'\nSTAGE 'teach'\nSTAGE 'sft'\nSTAGE 'grpo'\n\
         STAGE 'eval'\nname = 'of-sft'\nafter = 'sft'\n",
    )
    .unwrap();
    assert_eq!(inputs(&plan, "before"), ["held_out=data"], "the student itself");
    assert_eq!(inputs(&plan, "of-sft"), ["held_out=data", "model=sft"]);
    let again = plan.and_after(plan.find("grpo").unwrap());
    assert_eq!(again, BTreeSet::from(["grpo".to_owned()]), "the branch does not depend on it");
    assert_eq!(plan.and_after(plan.find("teach").unwrap()).len(), 4);
}

#[test]
fn a_stage_may_follow_one_that_stands_below_it() {
    let plan = plan("STAGE 'data'\nSTAGE 'sft'\nafter = 'teach'\nSTAGE 'teach'\nafter = 'data'\n")
        .unwrap();
    let order: Vec<&str> = plan.stages.iter().map(|stage| stage.entry.name.as_str()).collect();
    assert_eq!(order, ["data", "teach", "sft"]);
}

#[test]
fn a_named_input_is_a_stage_or_a_path() {
    let plan = plan("STAGE 'sft'\ninput = { traces = './t.jsonl', model = './m' }\n").unwrap();
    assert_eq!(inputs(&plan, "sft"), ["model=./m", "traces=./t.jsonl"]);
    let missing = plan.check_files().unwrap_err().details().join("\n");
    assert!(missing.contains("there is no `./t.jsonl` to take traces from"), "{missing}");
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let found = plan(text).unwrap_err();
    assert!(found.contains(expected), "{found}");
}

#[test]
fn what_cannot_run_is_refused_with_its_place_before_anything_begins() {
    refused(
        "STAGE 'stf'\n",
        "f.toml:1:1: `stage stf`: `stf` is not a kind of stage\n  hint: there are data",
    );
    refused(
        "STAGE 'sft'\n",
        "needs traces or rows, and no stage before it makes them\n  hint: put a stage before it",
    );
    refused("STAGE 'data'\nSTAGE 'eval'\nafter = 'x'\n", "it is after `x`, which is not a stage");
    refused(
        "STAGE 'data'\nSTAGE 'teach'\ninput = { tasks = 'dta' }\n",
        "its tasks are those of `dta`, which is not a stage\n  hint: the stages are data, teach; a path is",
    );
    refused(
        "STAGE 'data'\nSTAGE 'teach'\nSTAGE 'eval'\ninput = { model = 'teach' }\n",
        "the stage `teach` does not make model\n  hint: stages of these kinds do: new_model, sft",
    );
    refused(
        "STAGE 'data'\nSTAGE 'teach'\ninput = { model = 'x' }\n",
        "a stage of kind `teach` has no input `model`\n  hint: it takes tasks",
    );
    refused("STAGE 'data'\nembeded = 3\n", "f.toml:3:1: `stage data`: unknown field `embeded`");
    refused(
        "STAGE 'data'\nSTAGE 'teach'\nset = { 'training.lr' = 3 }\n",
        "f.toml:5:9: `training.lr`: unknown key",
    );
}

#[test]
fn a_circle_is_named() {
    let circle = "STAGE 'data'\nSTAGE 'teach'\nafter = 'sft'\nSTAGE 'sft'\n\
                  input = { traces = './t.jsonl' }\n";
    refused(circle, "stages follow each other in a circle: teach → sft → teach");
    let itself = "STAGE 'data'\nSTAGE 'validate'\ninput = { tasks = 'validate' }\n";
    refused(itself, "stages follow each other in a circle: validate → validate");
}
