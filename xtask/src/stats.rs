//! `cargo xtask stats`: sizes of the code, counted.
//!
//! Product code is what is under `crates/*/src` without tests: files of tests (`tests.rs`, `testing.rs`,
//! folders called `tests`, the loopback servers) and the `mod tests` at the end of a file. Lines include
//! blank ones and comments. A function's parameters do not include `self`.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, io};

use crate::file_graph::{OwnModule, file_cycles};
use crate::product::{before_tests, is_test};
use crate::tidy::rust_code::code_of;
use crate::tidy::signatures::functions;
use crate::tidy::tree::Tree;

/// The line of help.
pub const WHAT: &str =
    "lines, functions, parameters, types and file cycles of the product, counted";

/// More lines than this are many for a function.
const MANY_LINES: usize = 40;
/// More parameters than this are many.
const MANY_PARAMETERS: usize = 4;

/// What was counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// By crate.
    pub lines: BTreeMap<String, Lines>,
    /// Functions of the product.
    pub functions: usize,
    /// Of these, functions with more than 40 lines.
    pub long_functions: usize,
    /// Functions with more than four parameters.
    pub many_parameters: usize,
    /// Parameters that are tuples.
    pub tuple_parameters: usize,
    /// Items that other crates can use.
    pub public_items: usize,
    /// The longest file of the product.
    pub longest: LongestFile,
    /// How often each type's name is defined.
    pub types: BTreeMap<String, usize>,
    /// Files inside a crate that use each other, directly or through others, where uses of the `mod.rs`
    /// of the own folder do not count.
    pub cycles: Vec<Vec<String>>,
    /// How many there are where these uses count.
    pub cycles_with_own_modules: usize,
}

/// Lines of a crate.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Of what it does.
    pub product: usize,
    /// Of its tests.
    pub tests: usize,
}

/// A file and its lines.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LongestFile {
    /// Where it is.
    pub path: String,
    /// How many lines, tests included.
    pub lines: usize,
}

/// Counts the repository at `root`.
///
/// # Errors
///
/// If it cannot be read.
pub fn count(root: &Path) -> io::Result<Stats> {
    let tree = Tree::read(root)?;
    let mut stats = Stats {
        cycles: file_cycles(&tree, OwnModule::Ignored),
        cycles_with_own_modules: file_cycles(&tree, OwnModule::Counts).len(),
        ..Stats::default()
    };
    for (path, text) in tree.rust() {
        let Some((name, inside)) = path.strip_prefix("crates/").and_then(|p| p.split_once('/'))
        else {
            continue;
        };
        let lines = text.lines().count();
        let product = if is_test(inside) { "" } else { before_tests(text) };
        let of_crate = stats.lines.entry(name.to_owned()).or_default();
        of_crate.product += product.lines().count();
        of_crate.tests += lines - product.lines().count();
        if !product.is_empty() {
            stats.add(product);
            if lines > stats.longest.lines {
                stats.longest = LongestFile { path: path.to_owned(), lines };
            }
        }
    }
    Ok(stats)
}

impl Stats {
    /// Adds a file of the product.
    fn add(&mut self, text: &str) {
        let code = code_of(text);
        for function in functions(&code) {
            let own = function.parameters.iter().filter(|parameter| !parameter.is_receiver());
            self.functions += 1;
            self.long_functions += usize::from(function.lines > MANY_LINES);
            self.many_parameters += usize::from(own.count() > MANY_PARAMETERS);
            let tuples = function.parameters.iter().filter(|parameter| parameter.is_tuple());
            self.tuple_parameters += tuples.count();
        }
        for line in code.lines().map(str::trim_start) {
            let item = line.strip_prefix("pub ").map(|item| item.trim_start_matches("const "));
            let items = ["fn ", "struct ", "enum ", "trait ", "type ", "static ", "unsafe "];
            let is_constant = line.starts_with("pub const ");
            let is_item = item.is_some_and(|item| items.iter().any(|kind| item.starts_with(kind)));
            self.public_items += usize::from(is_item || is_constant);
            if let Some(name) = defined_type(line) {
                *self.types.entry(name.to_owned()).or_default() += 1;
            }
        }
    }

    /// Names of several types, the most frequent first.
    fn shared_names(&self) -> Vec<(&str, usize)> {
        let shared = self.types.iter().filter(|(_, count)| **count > 1);
        let mut names: Vec<(&str, usize)> =
            shared.map(|(name, count)| (name.as_str(), *count)).collect();
        names.sort_by_key(|(name, count)| (usize::MAX - count, *name));
        names
    }
}

/// The name of the type that a line defines.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line,
    };
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<10} {:>8} {:>8}", "crate", "product", "tests")?;
        let mut all = Lines::default();
        for (name, lines) in &self.lines {
            writeln!(f, "{name:<10} {:>8} {:>8}", lines.product, lines.tests)?;
            all.product += lines.product;
            all.tests += lines.tests;
        }
        writeln!(f, "{:<10} {:>8} {:>8}\n", "all", all.product, all.tests)?;
        let LongestFile { path, lines } = &self.longest;
        let shared = self.shared_names();
        writeln!(f, "functions                   {:>6}", self.functions)?;
        writeln!(f, "  with more than {MANY_LINES} lines   {:>6}", self.long_functions)?;
        writeln!(f, "  with more than {MANY_PARAMETERS} parameters{:>5}", self.many_parameters)?;
        writeln!(f, "tuple parameters            {:>6}", self.tuple_parameters)?;
        writeln!(f, "public items                {:>6}", self.public_items)?;
        writeln!(f, "longest file                {lines:>6}  {path}")?;
        writeln!(f, "names of several types      {:>6}", shared.len())?;
        let most = shared.iter().take(20).map(|(name, count)| format!("{name} {count}"));
        writeln!(f, "  most often: {}", most.collect::<Vec<_>>().join(", "))?;
        writeln!(f, "cycles between files        {:>6}", self.cycles.len())?;
        for cycle in &self.cycles {
            writeln!(f, "  {}", cycle.join(", "))?;
        }
        let own = self.cycles_with_own_modules;
        writeln!(f, "  with uses of the own `mod.rs`{own:>5}")
    }
}
