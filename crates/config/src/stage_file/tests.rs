//! What a stage file may look like, and what is said of one that does not.

use serde::Deserialize;

use super::*;

fn parse(text: &str) -> Result<StageFile, Vec<String>> {
    let parsed = StageFile::parse("runs/all.toml".into(), text.to_owned());
    parsed.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(parse(text).unwrap_err(), expected);
}

#[test]
fn a_stage_has_its_kind_for_a_name_and_a_file_its_own() {
    let file =
        parse("[[stage]]\nkind = \"data\"\n[[stage]]\nkind = \"sft\"\nname = \"a\"\n").unwrap();
    let names: Vec<&str> = file.stages.iter().map(|stage| stage.name.as_str()).collect();
    assert_eq!((file.name.as_str(), names), ("all", vec!["data", "a"]));
}

#[test]
fn everything_wrong_is_named_with_its_place() {
    check("", &["runs/all.toml:1:1: there is no `[[stage]]`: a stage file has a list of stages"]);
    check(
        "v = 2\n[[stage]]\nkind = 3\n",
        &[
            "runs/all.toml:1:5: `v`: this whet reads version 1 of stage files",
            "runs/all.toml:3:8: `kind`: is number 3, expected text",
        ],
    );
    check("[[stage]]\nname = \"a\"\n", &["runs/all.toml:1:1: `stage`: it has no `kind`"]);
    check(
        "[[stage]]\nkind = \"a\"\n[[stage]]\nkind = \"a\"\n",
        &[
            "runs/all.toml:3:1: `stage a`: two stages have this name\n  hint: give one of them another `name`",
        ],
    );
    check(
        "[[stage]]\nkind = \"a\"\nname = \"../x\"\ninput = 3\nset = \"x\"\n",
        &[
            "runs/all.toml:3:8: `name`: a stage's name has up to 60 letters, digits, `_` and `-`, and begins with \
         a letter or a digit",
            "runs/all.toml:4:9: `input`: is number 3, expected `{ what = \"stage or path\" }`",
            "runs/all.toml:5:7: `set`: is text \"x\", expected `{ \"section.key\" = value }`",
        ],
    );
}

#[test]
fn options_are_the_other_keys_and_an_unknown_one_is_named_with_its_place() {
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Options {
        embedded: u32,
    }
    let text = "[[stage]]\nkind = \"data\"\nembedded = 3\nset = {}\n";
    let file = parse(text).unwrap();
    assert_eq!(file.stages[0].options::<Options>().unwrap(), Options { embedded: 3 });
    let file = parse(&format!("{text}embeded = 4\n")).unwrap();
    let problem = file.stages[0].options::<Options>().unwrap_err().to_string();
    let expected = "runs/all.toml:5:1: `stage data`: unknown field `embeded`, expected `embedded`";
    assert_eq!(problem, expected);
}

#[test]
fn settings_of_the_file_are_those_of_every_stage_and_a_stage_has_its_own_over_them() {
    let text = "seed = 7\n[[stage]]\nkind = \"sft\"\n\
                set = { \"training.max_steps\" = 3, lora = { rank = 4 } }\n";
    let file = parse(text).unwrap();
    let loaded = crate::load(&file.layers(0)).unwrap();
    let config = &loaded.config;
    assert_eq!((config.seed, config.training.max_steps, config.lora.rank), (7, 3, 4));
    assert_eq!(loaded.places["training.max_steps"].to_string(), "runs/all.toml:4:32");
    assert_eq!(crate::load(&[file.settings()]).unwrap().config.training.max_steps, 0);
}

#[test]
fn an_unknown_setting_of_a_stage_is_named_with_its_place() {
    let file = parse("sed = 7\n[[stage]]\nkind = \"sft\"\nset = { \"lora.rnk\" = 4 }\n").unwrap();
    let problems = crate::load(&file.layers(0)).unwrap_err();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "runs/all.toml:1:1: `sed`: unknown key\n  hint: did you mean `seed`?",
            "runs/all.toml:4:9: `lora.rnk`: unknown key\n  hint: did you mean `lora.rank`?",
        ]
    );
}
