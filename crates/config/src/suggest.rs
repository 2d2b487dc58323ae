//! Suggestions for an unknown key.

use super::schema::{Field, Schema, join};

/// Letters of a word that says something, at least.
const LONG_WORD: usize = 4;
/// Settings of other tools that spread a training over several GPUs.
const SHARDING: [&str; 3] = ["deepspeed", "fsdp", "zero_stage"];
/// Names that are suggested together, at most.
const MAX_RELATED: usize = 3;

/// A hint for `key`, which is unknown among `siblings`.
///
/// A similar name in the same section first, then the same name in another section, then names of the same section
/// with a word in common; else the keys of the section. Only a key without a section is looked for elsewhere by a similar
/// name: another section's key does another thing.
pub(super) fn suggestion(key: &str, siblings: &[Field], schema: &Schema) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
    if SHARDING.contains(&name) {
        return "whet trains on one GPU and shards nothing: leave it out".to_owned();
    }
    let near = |field: &&Field| is_near(name, &field.name);
    let nearest = siblings.iter().filter(near).max_by(|a, b| {
        strsim::jaro_winkler(name, &a.name).total_cmp(&strsim::jaro_winkler(name, &b.name))
    });
    if let Some(field) = nearest {
        return format!("did you mean `{}`?", join(section, &field.name));
    }
    let leaves = schema.leaves();
    // Keys of one name in several sections: those of `training` are the ones most often meant.
    let same = leaves
        .iter()
        .filter(|(_, field)| field.name == name || field.aliases.iter().any(|alias| alias == name))
        .min_by_key(|(path, _)| !path.starts_with("training."));
    let related = if same.is_none() { related(name, section, siblings) } else { Vec::new() };
    if !related.is_empty() {
        return format!("did you mean {}?", related.join(" or "));
    }
    let similar = || leaves.iter().find(|(_, f)| section.is_empty() && is_near(name, &f.name));
    if let Some((path, _)) = same.or_else(similar) {
        return format!("did you mean `{path}`?");
    }
    let names: Vec<_> = siblings.iter().map(|field| field.name.as_str()).collect();
    let place = if section.is_empty() { "a config".to_owned() } else { format!("`{section}`") };
    format!("{place} has: {}", names.join(", "))
}

/// Keys of a section that have a word in common with `name`, quoted; none where there are too many to choose from.
fn related(name: &str, section: &str, siblings: &[Field]) -> Vec<String> {
    if section.is_empty() {
        return Vec::new();
    }
    let words: Vec<&str> = name.split('_').filter(|word| word.len() >= LONG_WORD).collect();
    let shares = |field: &&Field| field.name.split('_').any(|word| words.contains(&word));
    let found = siblings.iter().filter(shares);
    let quoted: Vec<String> =
        found.map(|field| format!("`{}`", join(section, &field.name))).collect();
    if quoted.len() > MAX_RELATED { Vec::new() } else { quoted }
}

/// Whether `written` is a slip for `name`: one edit in three letters at the most.
fn is_near(written: &str, name: &str) -> bool {
    // Comparing takes the product of the lengths; no slip is this long.
    written.len() <= 64
        && strsim::damerau_levenshtein(&written.to_lowercase(), name) * 3 <= name.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Kind;

    #[track_caller]
    fn check(key: &str, expected: &str) {
        let schema = Schema::get();
        let section = key.rsplit_once('.').map(|(section, _)| section);
        let fields = schema.fields.iter().find(|field| Some(field.name.as_str()) == section);
        let siblings = match fields.map(|field| &field.kind) {
            Some(Kind::Section(fields)) => fields,
            _ => &schema.fields,
        };
        assert_eq!(suggestion(key, siblings, schema), expected);
    }

    #[test]
    fn a_slip_is_found_in_its_section_first() {
        check("grpo.kl_cof", "did you mean `grpo.kl_coef`?");
        check("teacher.Temprature", "did you mean `teacher.temperature`?");
        check("traning", "did you mean `training`?");
    }

    #[test]
    fn a_key_in_the_wrong_section_is_found_by_any_of_its_names() {
        check("learning_rate", "did you mean `training.learning_rate`?");
        check("student.lora_alpha", "did you mean `lora.alpha`?");
    }

    #[test]
    fn a_hint_stays_in_the_section_of_the_key() {
        check("ppo.max_steps_per_episode", "did you mean `env.max_turns`?");
        check("lora.seeds", "`lora` has: rank, alpha, target_modules");
        check("training.deepspeed", "whet trains on one GPU and shards nothing: leave it out");
        check("seeds", "did you mean `seed`?");
    }

    #[test]
    fn a_key_with_a_word_of_others_in_its_section_is_one_of_these() {
        check(
            "quickstart.eval_tasks",
            "did you mean `quickstart.train_tasks` or `quickstart.held_out_tasks`?",
        );
        check(
            "eval.sample_count",
            "`eval` has: k, num_samples, temperature, more_temperatures, sanitize",
        );
    }

    #[test]
    fn what_resembles_nothing_is_answered_with_what_there_is() {
        check("lora.bonk", "`lora` has: rank, alpha, target_modules");
        check("eval.z", "`eval` has: k, num_samples, temperature, more_temperatures, sanitize");
        check(&format!("lora.{}", "r".repeat(100_000)), "`lora` has: rank, alpha, target_modules");
    }
}
