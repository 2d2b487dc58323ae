//! Keys that are set on the command line for all stages, or for one: `grpo:training.max_steps=3`, and options of one:
//! `eval:max_tasks=50`.

use whetstone_config::{StageEntry, StageFile};

/// The keys that are set for the stage at `at`.
pub(super) fn of_stage(set: &[String], file: &StageFile, at: usize) -> Vec<String> {
    let own = &file.stages[at].name;
    let mine = |argument: &String| match scoped(argument, file) {
        None => Some(argument.clone()),
        Some((stage, key)) => (stage == own && !is_option(key)).then(|| key.to_owned()),
    };
    set.iter().filter_map(mine).collect()
}

/// The file with the options that are set for its stages.
pub(super) fn with_options(mut file: StageFile, set: &[String]) -> StageFile {
    for argument in set {
        let Some((stage, option)) = scoped(argument, &file).filter(|(_, key)| is_option(key))
        else {
            continue;
        };
        let own = |known: &&mut StageEntry| known.name == stage;
        if let Some(entry) = file.stages.iter_mut().find(own) {
            entry.set_option(option.to_owned());
        }
    }
    file
}

/// Whether `key=value` is an option of a stage: settings have a section, but for the seed.
fn is_option(argument: &str) -> bool {
    let key = argument.split_once('=').map(|(key, _)| key.trim());
    key.is_some_and(|key| !key.contains('.') && key != "seed")
}

/// The keys that are set for all stages.
pub fn of_all(set: &[String], file: &StageFile) -> Vec<String> {
    set.iter().filter(|argument| scoped(argument, file).is_none()).cloned().collect()
}

/// The stage and the key, if a stage is named.
fn scoped<'a>(argument: &'a str, file: &StageFile) -> Option<(&'a str, &'a str)> {
    let (stage, key) = argument.split_once(':')?;
    file.stages.iter().any(|known| known.name == stage).then_some((stage, key))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_key_of_a_stage_is_set_for_that_stage_alone() {
        let text = "[[stage]]\nkind = 'data'\n[[stage]]\nkind = 'sft'\n".to_owned();
        let file = StageFile::parse("f.toml".into(), text).unwrap();
        let set = ["seed=3", "sft:lora.rank=4", "teacher.api_url=http://a:b"].map(str::to_owned);
        assert_eq!(of_stage(&set, &file, 0), ["seed=3", "teacher.api_url=http://a:b"]);
        assert_eq!(
            of_stage(&set, &file, 1),
            ["seed=3", "lora.rank=4", "teacher.api_url=http://a:b"]
        );
        assert_eq!(of_all(&set, &file), ["seed=3", "teacher.api_url=http://a:b"]);
    }

    #[test]
    fn an_option_of_a_stage_replaces_that_of_the_file() {
        let text = "[[stage]]\nkind = 'data'\nsolver = 100\nlimit = 7\n[[stage]]\nkind = 'teach'\n";
        let file = StageFile::parse("f.toml".into(), text.to_owned()).unwrap();
        let set = ["data:solver=8", "data:seed=3", "teach:teacher=embedded", "data:tasks=['a']"]
            .map(str::to_owned);
        let file = with_options(file, &set);
        let [data, teach] = [0, 1].map(|at| file.stages[at].options::<Value>().unwrap());
        assert_eq!(data, json!({"solver": 8, "limit": 7, "tasks": ["a"]}));
        assert_eq!(teach, json!({"teacher": "embedded"}));
        assert_eq!(of_stage(&set, &file, 0), ["seed=3"]);
        assert_eq!(of_stage(&set, &file, 1), Vec::<String>::new());
    }

    #[test]
    fn an_option_that_is_not_one_of_the_kind_is_refused_with_what_was_given() {
        let text = "[[stage]]\nkind = 'data'\n".to_owned();
        let file = StageFile::parse("f.toml".into(), text).unwrap();
        let refused = super::super::Plan::new(file, &["data:sover=8".to_owned()]).unwrap_err();
        let crate::failure::Failure::Config(problems) = refused else { panic!("{refused}") };
        assert_eq!(problems[0].hint.as_deref(), Some("`--set` gives it sover=8"));
    }
}
