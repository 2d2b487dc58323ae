//! What `cargo xtask stats` counts, on a repository of a few lines.

use std::fs;

use xtask::stats::{Lines, LongestFile, count};

const PRODUCT: &str = "//! One.

/// A thing.
pub struct Place;

pub(crate) enum Report {}

pub fn many(a: u8, b: u8, c: u8, d: u8, e: u8) {}

fn tuple(&self, (a, b): (u8, u8), c: u8, d: u8, e: u8) {}

#[cfg(test)]
mod tests {
    fn not_counted((a, b): (u8, u8)) {}
}
";

#[test]
fn product_and_tests_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let long = format!("//! Two.\nstruct Place;\nfn long() {{\n{}}}\n", "    g();\n".repeat(40));
    write("crates/core/src/one.rs", PRODUCT);
    write("crates/core/src/two.rs", &long);
    write("crates/core/src/lib.rs", "//! Both.\n");
    write("crates/algo/src/a/mod.rs", "//! A.\nuse b::B;\npub struct A;\n");
    write("crates/algo/src/a/b.rs", "//! B.\nuse super::A;\nuse crate::c::C;\npub struct B;\n");
    write("crates/algo/src/c.rs", "//! C.\nuse crate::a::b::B;\npub struct C;\n");
    write("crates/core/src/two/tests.rs", "//! Tests.\nfn f((a, b): (u8, u8)) {}\n");
    write("crates/cli/tests/whet.rs", "//! Tests.\nstruct Place;\n");
    write("xtask/src/lib.rs", "//! Not a crate of the product.\nfn f((a, b): (u8, u8)) {}\n");
    let stats = count(folder.path()).unwrap();
    let lines = |name: &str| stats.lines[name];
    assert_eq!(lines("core"), Lines { product: 10 + 44 + 1, tests: 5 + 2 });
    assert_eq!(lines("cli"), Lines { product: 0, tests: 2 });
    assert_eq!(stats.lines.len(), 3);
    assert_eq!((stats.functions, stats.long_functions), (3, 1));
    assert_eq!((stats.many_parameters, stats.tuple_parameters), (1, 1));
    assert_eq!(stats.public_items, 2 + 3);
    let longest = LongestFile { path: "crates/core/src/two.rs".to_owned(), lines: 44 };
    assert_eq!(stats.longest, longest);
    assert_eq!(stats.types.get("Place"), Some(&2));
    assert_eq!(stats.cycles, [["crates/algo/src/a/b.rs", "crates/algo/src/c.rs"]]);
    assert_eq!(stats.cycles_with_own_modules, 1);
    let told = stats.to_string();
    assert!(told.contains("tuple parameters                 1"), "{told}");
    assert!(told.contains("most often: Place 2"), "{told}");
    assert!(told.contains("cycles between files             1\n  crates/algo"), "{told}");
}
