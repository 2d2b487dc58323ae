//! Cargo manifests: who depends on whom.
//!
//! A manifest that is missing or malformed reads as an empty one: cargo refuses it before tidy is
//! even built, with a better message than ours.

use toml::{Table, Value};

use super::tree::Tree;

/// The tables of a manifest that name dependencies.
const KEYS: &[(&str, Kind)] = &[
    ("dependencies", Kind::Build),
    ("build-dependencies", Kind::Build),
    ("dev-dependencies", Kind::Dev),
];

/// When a dependency is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To build the crate.
    Build,
    /// To test it.
    Dev,
}

/// One line of a `[dependencies]` table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// Its key.
    pub(super) name: String,
    /// When it is needed.
    pub(super) kind: Kind,
    /// Whether it says `workspace = true`.
    pub(super) inherited: bool,
}

/// One crate under `crates/`, with its edges to the others.
pub(super) struct Crate {
    /// Its folder's name.
    pub(super) name: String,
    /// Its package's name.
    pub(super) package: String,
    /// Folders of the crates it depends on.
    pub(super) edges: Vec<(String, Kind)>,
}

/// The manifest at `path`, empty if there is none.
pub(super) fn read(tree: &Tree, path: &str) -> Table {
    tree.text(path).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Every crate under `crates/`, by name.
pub(super) fn crates(tree: &Tree) -> Vec<Crate> {
    let root = read(tree, "Cargo.toml");
    let names = tree.names_in("crates").into_iter();
    let names = names.filter(|name| tree.text(&manifest_of(name)).is_some());
    names.map(|name| read_crate(tree, &root, name)).collect()
}

/// Path of a crate's manifest.
pub(super) fn manifest_of(name: &str) -> String {
    format!("crates/{name}/Cargo.toml")
}

/// Every dependency of a manifest, those for one platform included.
pub(super) fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let platforms = table(manifest, &["target"]).into_iter().flat_map(Table::values);
    let tables = platforms.filter_map(Value::as_table).chain([manifest]);
    tables.flat_map(|table| KEYS.iter().flat_map(|(key, kind)| listed(table, key, *kind))).collect()
}

/// The table at `path`, where each part is one key.
pub(super) fn table<'a>(manifest: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(manifest, |table, key| table.get(*key)?.as_table())
}

/// A list of strings under `[workspace]`, e.g. `members`.
pub(super) fn workspace_list(root: &Table, key: &str) -> Vec<String> {
    let list = table(root, &["workspace"]).and_then(|table| table.get(key)?.as_array());
    list.into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

fn listed(manifest: &Table, key: &str, kind: Kind) -> Vec<Dependency> {
    let entries = table(manifest, &[key]).into_iter().flatten();
    let inherited = |value: &Value| value.get("workspace").and_then(Value::as_bool) == Some(true);
    entries
        .map(|(name, value)| Dependency { name: name.clone(), kind, inherited: inherited(value) })
        .collect()
}

fn read_crate(tree: &Tree, root: &Table, name: &str) -> Crate {
    let manifest = read(tree, &manifest_of(name));
    let package = table(&manifest, &["package"]).and_then(|table| table.get("name")?.as_str());
    let edges = dependencies(&manifest)
        .into_iter()
        .filter_map(|dependency| Some((folder_of(root, &dependency.name)?, dependency.kind)));
    Crate {
        name: name.to_owned(),
        package: package.unwrap_or_default().to_owned(),
        edges: edges.collect(),
    }
}

/// The folder under `crates/` that a dependency means, whatever name it goes by.
fn folder_of(root: &Table, dependency: &str) -> Option<String> {
    let declared = table(root, &["workspace", "dependencies", dependency]);
    let path = declared.and_then(|table| table.get("path")?.as_str());
    path.and_then(|path| path.strip_prefix("crates/"))
        .or_else(|| dependency.strip_prefix("whetstone-"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_and_platform_are_seen() {
        let manifest = "
            [dependencies]
            a = { workspace = true }
            b = '1'
            [dev-dependencies]
            c.workspace = true
            [target.'cfg(unix)'.build-dependencies]
            d = { version = '1' }
        ";
        let mut seen: Vec<_> = dependencies(&manifest.parse().unwrap())
            .into_iter()
            .map(|d| (d.name, d.kind, d.inherited))
            .collect();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("a", Kind::Build, true),
            ("b", Kind::Build, false),
            ("c", Kind::Dev, true),
            ("d", Kind::Build, false),
        ];
        assert_eq!(
            seen,
            expected.map(|(name, kind, inherited)| (name.to_owned(), kind, inherited))
        );
    }
}
