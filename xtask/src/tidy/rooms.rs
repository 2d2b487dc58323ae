//! The map of crates in ARCHITECTURE.md, read as data.
//!
//! Two tables, known by their header rows. The first lists the crates that are there, in pipeline
//! order; the second, which may be absent, those still to come. The last cell of a row says what
//! the crate may depend on: `–` for nothing, names between commas, `all above` for every earlier
//! row of the same table, or `everything`.

use super::markdown::{self, Table};
use super::tree::Tree;

/// The page that holds the map.
pub(super) const PAGE: &str = "ARCHITECTURE.md";

/// Header of the table of crates that are there.
pub(super) const BUILT: &[&str] = &["crate", "what lives there", "may depend on"];

/// Header of the table of crates still to come.
pub(super) const PLANNED: &[&str] = &["planned crate", "what will live there", "may depend on"];

/// The two tables.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    /// Crates that are there, in pipeline order.
    pub(super) built: Vec<Room>,
    /// Crates still to come.
    pub(super) planned: Vec<Room>,
}

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The crate's folder under `crates/`.
    pub(super) name: String,
    /// What it may depend on.
    pub(super) allowed: Allowed,
}

/// What a crate may depend on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// These crates.
    Only(Vec<String>),
    /// Any crate.
    Everything,
}

/// The map, with no rooms if the page or its tables are missing.
pub(super) fn read(tree: &Tree) -> Rooms {
    tree.text(PAGE).map(parse).unwrap_or_default()
}

impl Room {
    /// Whether the map lets this crate depend on `other`.
    pub(super) fn allows(&self, other: &str) -> bool {
        match &self.allowed {
            Allowed::Only(names) => names.iter().any(|name| name == other),
            Allowed::Everything => true,
        }
    }
}

fn parse(text: &str) -> Rooms {
    let tables = markdown::tables(text);
    let rooms = |header| {
        let table = tables.iter().find(|table| table.header == header);
        table.map(rooms_of).unwrap_or_default()
    };
    Rooms { built: rooms(BUILT), planned: rooms(PLANNED) }
}

fn rooms_of(table: &Table<'_>) -> Vec<Room> {
    let names: Vec<String> = table.rows.iter().map(|row| plain(row[0])).collect();
    let room = |(at, row): (usize, &Vec<&str>)| {
        let cell = row.last().copied().unwrap_or_default();
        Room { name: names[at].clone(), allowed: allowed(cell, &names[..at]) }
    };
    table.rows.iter().enumerate().map(room).collect()
}

fn allowed(cell: &str, above: &[String]) -> Allowed {
    match cell {
        "–" | "-" | "—" | "" => Allowed::Only(vec![]),
        "all above" => Allowed::Only(above.to_vec()),
        "everything" => Allowed::Everything,
        names => Allowed::Only(names.split(',').map(plain).collect()),
    }
}

fn plain(cell: &str) -> String {
    cell.trim().trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
| crate | what lives there | may depend on |
|---|---|---|
| `core` | nouns | – |
| `record` | files | core |
| `train` | loops, `a|b` | all above |
| `cli` | `whet` | everything |

| planned crate | what will live there | may depend on |
|---|---|---|
| `serve` | HTTP | `core`, record |
";

    #[test]
    fn every_way_to_say_what_is_allowed_is_understood() {
        let rooms = parse(MAP);
        let allowed: Vec<_> =
            rooms.built.iter().chain(&rooms.planned).map(|r| &r.allowed).collect();
        let only = |names: &[&str]| Allowed::Only(names.iter().map(ToString::to_string).collect());
        assert_eq!(
            allowed,
            [
                &only(&[]),
                &only(&["core"]),
                &only(&["core", "record"]),
                &Allowed::Everything,
                &only(&["core", "record"]),
            ]
        );
    }
}
