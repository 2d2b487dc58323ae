//! The resolved config as a TOML file that reads back the same.

use std::fmt::Write;

use super::Loaded;
use super::schema::{Field, Kind, Schema, join};
use super::value::toml_text;

/// The whole config, with a comment behind each key that was set, saying where.
pub fn show(loaded: &Loaded) -> String {
    let values = serde_json::to_value(&loaded.config).unwrap_or_default();
    let mut out = String::new();
    section(&Schema::get().fields, "", &values, loaded, &mut out);
    out
}

fn section(
    fields: &[Field],
    path: &str,
    values: &serde_json::Value,
    loaded: &Loaded,
    out: &mut String,
) {
    let (sections, keys): (Vec<_>, Vec<_>) =
        fields.iter().partition(|field| matches!(field.kind, Kind::Section(_)));
    for field in keys {
        let _ = write!(out, "{} = {}", field.name, toml_text(&values[&field.name]));
        if let Some(place) = loaded.places.get(&join(path, &field.name)) {
            // A control character in a comment would not be TOML.
            let place = place.to_string().replace(char::is_control, " ");
            let _ = write!(out, "  # {place}");
        }
        out.push('\n');
    }
    for field in sections {
        let Kind::Section(inner) = &field.kind else { continue };
        let path = join(path, &field.name);
        let _ = write!(out, "\n[{path}]\n");
        section(inner, &path, &values[&field.name], loaded, out);
    }
}
