//! What an unknown key may have been meant to be.

use super::schema::{Field, Schema, join};

/// A hint for `key`, which is unknown among `siblings`.
///
/// A near name in the same section first, then the same name in another section, then a near one
/// there; if nothing is near, what the section has.
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
    let same = leaves
        .iter()
        .find(|(_, field)| field.name == name || field.aliases.iter().any(|alias| alias == name));
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
