//! Suggestions for an unknown key.

use super::schema::{Field, Schema, join};

/// A hint for `key`, which is unknown among `siblings`.
///
/// A similar name in the same section first, then the same name in another section, then a similar
/// one there; else the keys of the section.
pub(super) fn suggestion(key: &str, siblings: &[Field], schema: &Schema) -> String {
    let (section, name) = key.rsplit_once('.').unwrap_or(("", key));
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
    if let Some((path, _)) = same.or_else(|| leaves.iter().find(|(_, f)| is_near(name, &f.name))) {
        return format!("did you mean `{path}`?");
    }
    let names: Vec<_> = siblings.iter().map(|field| field.name.as_str()).collect();
    let place = if section.is_empty() { "a config".to_owned() } else { format!("`{section}`") };
    format!("{place} has: {}", names.join(", "))
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
    fn what_resembles_nothing_is_answered_with_what_there_is() {
        check("lora.bonk", "`lora` has: rank, alpha, target_modules");
        check("eval.z", "`eval` has: k, num_samples, temperature");
        check(&format!("lora.{}", "r".repeat(100_000)), "`lora` has: rank, alpha, target_modules");
    }
}
