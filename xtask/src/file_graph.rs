//! Which file of a crate uses which, and the cycles among them.
//!
//! A file uses another if its code names an item of it: in a `use`, or in a path such as `super::read`. An
//! item that a module only re-exports belongs to the file that defines it, so a `mod.rs` that declares and
//! re-exports its children is in no cycle with them unless it uses their items and they use its own. Tests
//! do not count. Not a resolver: methods and macros are not followed, and a path of an inline module is read
//! as one of its file.

use std::collections::{BTreeMap, BTreeSet};

use crate::product::{before_tests, is_test};
use crate::tidy::rust_code::{code_of, has_word};
use crate::tidy::tree::Tree;

/// Re-exports are followed this far.
const MAX_HOPS: usize = 8;

/// Files of one crate, and the files each of them uses.
type FileGraph = BTreeMap<String, BTreeSet<String>>;

/// A file as a module.
struct Module {
    file: String,
    /// The code without its `use` declarations.
    body: String,
    imports: Vec<Import>,
}

/// One name that a `use` brings into a module.
struct Import {
    /// Where the name comes from, as it is written.
    path: Vec<String>,
    /// The name in the module; `*` for all names.
    name: String,
    is_public: bool,
}

/// Whether files that use the `mod.rs` (or `lib.rs`) of their own folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnModule {
    Counts,
    Ignored,
}

/// Files of one crate that use each other, directly or through others.
pub(crate) fn file_cycles(tree: &Tree, own: OwnModule) -> Vec<Vec<String>> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in tree.rust() {
        let inside = path.strip_prefix("crates/").and_then(|inside| inside.split_once('/'));
        let product = inside.filter(|(_, inside)| !is_test(inside));
        let Some((name, file)) = product else { continue };
        // `main.rs` is a crate of its own beside `lib.rs`, which nothing can use.
        if let Some(file) = file.strip_prefix("src/").filter(|file| *file != "main.rs") {
            crates.entry(name).or_default().push((file, before_tests(text)));
        }
    }
    let mut found = Vec::new();
    for (name, files) in crates {
        let whole = |file: &String| format!("crates/{name}/src/{file}");
        let graph = graph(files.into_iter());
        let graph = if own == OwnModule::Counts { graph } else { without_own_modules(&graph) };
        found.extend(cycles(&graph).iter().map(|cycle| cycle.iter().map(whole).collect()));
    }
    found
}

/// The graph of a crate's product files: paths below its `src` and their texts.
fn graph<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> FileGraph {
    let modules: Modules = Modules(files.map(|(file, text)| module(file, text)).collect());
    let uses = |(path, module): (&Vec<String>, &Module)| {
        let mut used = modules.used(path, module);
        used.remove(&module.file);
        (module.file.clone(), used)
    };
    modules.0.iter().map(uses).collect()
}

/// Sets of files that use each other, directly or through others; each sorted, in order.
fn cycles(graph: &FileGraph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|file| (file, reachable(graph, file))).collect();
    let mut found = BTreeSet::new();
    for (file, reached) in &reach {
        let together = reached.iter().filter(|other| reach[*other].contains(file));
        let together: Vec<String> = together.map(|other| (*other).clone()).collect();
        if together.len() > 1 {
            found.insert(together);
        }
    }
    found.into_iter().collect()
}

/// The graph without the uses of a folder's `mod.rs` (or of `lib.rs`) by files of that folder.
fn without_own_modules(graph: &FileGraph) -> FileGraph {
    let is_own = |file: &str, used: &str| {
        let name = ["mod.rs", "lib.rs"].iter().find_map(|name| used.strip_suffix(name));
        name.is_some_and(|folder| file.starts_with(folder))
    };
    let kept = |file: &String, used: &BTreeSet<String>| {
        used.iter().filter(|used| !is_own(file, used)).cloned().collect()
    };
    graph.iter().map(|(file, used)| (file.clone(), kept(file, used))).collect()
}

/// All files that `file` uses, directly or through others.
fn reachable<'a>(graph: &'a FileGraph, file: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = graph.get(file).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if graph.contains_key(next) && reached.insert(next) {
            open.extend(&graph[next]);
        }
    }
    reached
}

/// The modules of a crate by their paths below its root.
struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    /// The files whose items a module names.
    fn used(&self, at: &[String], module: &Module) -> BTreeSet<String> {
        let imported = module.imports.iter().filter(|import| {
            !import.is_public || import.name == "*" || has_word(&module.body, &import.name)
        });
        let imported = imported.filter_map(|import| self.owner(at, &import.path, MAX_HOPS));
        let written = paths(&module.body);
        let written = written.iter().filter_map(|path| self.owner(at, path, MAX_HOPS));
        imported.chain(written).collect()
    }

    /// The file that defines the item at `path`, as seen from the module `at`; `None` if the path is a
    /// module or belongs to another crate.
    fn owner(&self, at: &[String], path: &[String], hops: usize) -> Option<String> {
        let absolute = self.absolute(at, path, hops)?;
        let parts = (1..absolute.len()).rev();
        let depth = parts.chain([0]).find(|depth| self.0.contains_key(&absolute[..*depth]))?;
        let (holder, item) = (&absolute[..depth], absolute.get(depth)?);
        if self.0.contains_key(&absolute) {
            return None;
        }
        let module = &self.0[holder];
        let import = module.imports.iter().find(|import| import.name == *item);
        match import.filter(|_| hops > 0) {
            Some(import) => self.owner(holder, &import.path, hops - 1),
            None => Some(module.file.clone()),
        }
    }

    /// A path from the root of the crate; `None` if it does not lead into the crate.
    fn absolute(&self, at: &[String], path: &[String], hops: usize) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut base = match first.as_str() {
            "crate" => Vec::new(),
            "self" => at.to_vec(),
            "super" => at.split_last()?.1.to_vec(),
            child if self.0.contains_key(&joined(at, child)) => joined(at, child),
            name => {
                let mut imports =
                    self.0[at].imports.iter().filter(|import| hops > 0 && import.name == name);
                let import = imports
                    .find(|import| import.path.first().is_some_and(|first| first != name))?;
                self.absolute(at, &import.path, hops - 1)?
            }
        };
        for part in rest {
            match part.as_str() {
                "super" => drop(base.pop()),
                "self" => {}
                part => base.push(part.to_owned()),
            }
        }
        Some(base)
    }
}

fn joined(path: &[String], last: &str) -> Vec<String> {
    path.iter().cloned().chain([last.to_owned()]).collect()
}

/// A file below `src` as a module, by its path.
fn module(file: &str, text: &str) -> (Vec<String>, Module) {
    let mut path: Vec<String> =
        file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    let (body, imports) = without_imports(&code_of(text));
    (path, Module { file: file.to_owned(), body, imports })
}

/// Splits code into what is no `use` declaration, and the names that those bring.
fn without_imports(code: &str) -> (String, Vec<Import>) {
    let (mut body, mut imports) = (String::new(), Vec::new());
    let mut rest = code;
    while let Some((before, after)) = next_use(rest) {
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let is_public = before[line..].trim_start().starts_with("pub");
        body.push_str(if is_public { &before[..line] } else { before });
        let (tree, behind) = after.split_once(';').unwrap_or((after, ""));
        let mut names = Vec::new();
        expand(&[], tree, &mut names);
        imports.extend(names.into_iter().map(|(path, name)| Import { path, name, is_public }));
        rest = behind;
    }
    body.push_str(rest);
    (body, imports)
}

/// The code before and behind the next word `use` that begins a declaration.
fn next_use(code: &str) -> Option<(&str, &str)> {
    let begins = |at: usize| {
        let line = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = code[line..at].trim();
        before.is_empty() || (before.starts_with("pub") && !before.contains(' '))
    };
    let (at, word) = code.match_indices("use ").find(|(at, _)| begins(*at))?;
    Some((&code[..at], &code[at + word.len()..]))
}

/// The paths and names of a tree of imports.
fn expand(prefix: &[String], tree: &str, names: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    if let Some((path, list)) = tree.split_once('{') {
        let prefix: Vec<String> = prefix.iter().cloned().chain(segments(path)).collect();
        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
        for part in split_list(list) {
            expand(&prefix, part, names);
        }
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, name)| (path, Some(name)));
    let mut path: Vec<String> = prefix.iter().cloned().chain(segments(path)).collect();
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let Some(last) = path.last().cloned() else { return };
    if last == "*" {
        path.pop();
        // An item that no module has: its owner is the module itself.
        path.push("*".to_owned());
    }
    names.push((path, alias.map_or(last, |alias| alias.trim().to_owned())));
}

fn segments(path: &str) -> impl Iterator<Item = String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned)
}

/// The parts of a list of imports.
fn split_list(list: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in list.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            parts.push(&list[from..at]);
            from = at + 1;
        }
    }
    parts.push(&list[from..]);
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect()
}

/// Paths of several segments in code.
fn paths(code: &str) -> Vec<Vec<String>> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let words = words.map(|word| word.trim_matches(':')).filter(|word| word.contains("::"));
    words.map(|word| segments(word).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&[&str]]) {
        assert_eq!(cycles(&graph(files.iter().copied())), expected);
    }

    #[test]
    fn files_that_import_each_other_are_a_cycle() {
        let a = "use crate::b::B;\npub struct A(B);";
        check(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", a), ("b.rs", "pub struct B;")], &[]);
        let b = "pub struct B;\nfn f() { super::a::A::new() }";
        check(&[("lib.rs", ""), ("a.rs", a), ("b.rs", b)], &[&["a.rs", "b.rs"]]);
    }

    #[test]
    fn a_cycle_may_pass_through_several_files() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use super::{c::{C, D}, E};"),
            ("c.rs", "use crate::a;\nfn f() { a::run() }"),
            ("lib.rs", "struct E;"),
        ];
        check(&files, &[&["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn a_module_that_re_exports_its_children_is_in_no_cycle_with_them() {
        let parent = "mod one;\nmod two;\npub use one::One;\npub use two::Two;\n";
        let files =
            [("p/mod.rs", parent), ("p/one.rs", "use super::Two;"), ("p/two.rs", "struct Two;")];
        check(&files, &[]);
    }

    #[test]
    fn a_module_that_uses_a_child_which_uses_it_is_in_a_cycle() {
        let child = "use super::Shared;\npub fn run(_: Shared) {}";
        let parent = "mod child;\npub struct Shared;\nfn f() { child::run(Shared) }";
        let expected: &[&[&str]] = &[&["p/child.rs", "p/mod.rs"]];
        check(&[("p/mod.rs", parent), ("p/child.rs", child)], expected);
        let parent = "mod child;\npub use child::run;\npub struct Shared;\nfn f() { run(Shared) }";
        check(&[("p/mod.rs", parent), ("p/child.rs", child)], expected);
        let parent = "mod child;\npub use child::run;\npub struct Shared;";
        check(&[("p/mod.rs", parent), ("p/child.rs", child)], &[]);
    }

    #[test]
    fn uses_of_the_own_module_can_be_left_out() {
        let child = "use super::Shared;\nuse super::other::run;";
        let parent = "mod child;\nmod other;\npub struct Shared;\nfn f() { child::start() }";
        let files = [("p/mod.rs", parent), ("p/child.rs", child), ("p/other.rs", "fn run() {}")];
        let graph = graph(files.into_iter());
        assert_eq!(cycles(&graph).len(), 1);
        assert_eq!(cycles(&without_own_modules(&graph)).len(), 0);
        assert!(without_own_modules(&graph)["p/child.rs"].contains("p/other.rs"));
    }

    #[test]
    fn comments_strings_and_other_crates_are_no_uses() {
        let a = "use std::b::B;\n// use crate::b::B;\nconst X: &str = \"crate::b::B\";";
        check(&[("a.rs", a), ("b.rs", "use crate::a::X;")], &[]);
    }
}
