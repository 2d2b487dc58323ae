//! Keys that are set on the command line for all stages, or for one: `grpo:training.max_steps=3`.

use whetstone_config::StageFile;

/// The keys that are set for the stage at `at`.
pub(super) fn of_stage(set: &[String], file: &StageFile, at: usize) -> Vec<String> {
    let own = &file.stages[at].name;
    let mine = |argument: &String| match scoped(argument, file) {
        None => Some(argument.clone()),
        Some((stage, key)) => (stage == own).then(|| key.to_owned()),
    };
    set.iter().filter_map(mine).collect()
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
}
