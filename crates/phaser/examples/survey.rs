//! Measures the static check on a folder of programs: `survey FOLDER INDEX.jsonl|VERSION OUT.txt [MISSED]`.
//!
//! It writes how many programs parse, how many uses of Phaser are resolved, which names are reported as
//! unknown, how many programs a second are checked on one core, and the recall on invented names: in each
//! program one call of a method of Phaser gets another name, `name` becomes `nameEx`. The call is chosen by
//! the path of the program among all calls of methods that the index knows by name, whether the check
//! resolves them or not; calls on `Math`, `console` and their like and methods of arrays do not count. Programs
//! whose invented name is not found are written into the folder MISSED, if one is named: `--bench phaser` runs them.
//!
//! On the 2,000 official examples of Phaser 3.86 outside of the excluded folders, against the index of 3.90.0:
//! 66,700 uses resolved, 10 programs with an unknown name (0.5 %), none with too few arguments, recall 97.3 %,
//! 8,600 to 12,000 programs a second of CPU time on a shared 2-core machine in release. All ten were looked up
//! in the engine and name what it does not have: a class and constants that were removed
//! (`Phaser.Cameras.Controls.Smoothed`, `Phaser.DOM.FIT`, `KeyboardPlugin.stopListeners`), Arcade's methods on
//! an image without a body, and fields that nothing sets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use oxc_allocator::Allocator;
use oxc_ast::AstKind;
use oxc_ast::ast::Expression;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::{SourceType, Span};
use whetstone_core::stack::{BigStack, on_big_stack};
use whetstone_phaser::check::{Findings, MAX_SOURCE_BYTES, check};
use whetstone_phaser::index::{Index, MemberKind};

/// Folders whose programs are drafts, or need code that is not Phaser's.
const EXCLUDED: [&str; 5] = ["bugs", "spine3", "spine4", "plugins", "plugin"];

/// Objects of the language and the browser.
const GLOBALS: [&str; 14] = [
    "Math",
    "console",
    "JSON",
    "Object",
    "Array",
    "document",
    "window",
    "Number",
    "String",
    "Date",
    "performance",
    "localStorage",
    "gui",
    "Promise",
];

/// Methods of arrays, strings and functions.
const BUILT_IN: [&str; 40] = [
    "push",
    "pop",
    "shift",
    "unshift",
    "forEach",
    "map",
    "filter",
    "find",
    "some",
    "every",
    "slice",
    "splice",
    "concat",
    "join",
    "split",
    "replace",
    "indexOf",
    "includes",
    "sort",
    "reverse",
    "keys",
    "values",
    "entries",
    "toString",
    "toFixed",
    "apply",
    "call",
    "bind",
    "charAt",
    "charCodeAt",
    "substr",
    "substring",
    "toLowerCase",
    "toUpperCase",
    "fill",
    "reduce",
    "then",
    "catch",
    "test",
    "exec",
];

const USAGE: &str = "usage: survey FOLDER INDEX.jsonl|VERSION OUT.txt [MISSED]";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ([folder, given, out], missed) = arguments.split_first_chunk().ok_or(USAGE)?;
    if missed.len() > 1 {
        return Err(USAGE.into());
    }
    let read;
    let index = if let Some(index) = Index::embedded(given) {
        index
    } else {
        read = Index::read(&std::fs::read(given)?)?;
        &read
    };
    let mut programs = Vec::new();
    collect(Path::new(folder), &mut programs)?;
    programs.sort();
    let totals = on_big_stack(|stack| survey(&programs, index, stack))??;
    if let Some(folder) = missed.first() {
        write_missed(Path::new(folder), &totals.missed)?;
    }
    Ok(std::fs::write(out, report(&totals))?)
}

fn write_missed(folder: &Path, missed: &[Missed]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (number, one) in missed.iter().enumerate() {
        std::fs::write(folder.join(format!("{number:04}.js")), &one.program)?;
    }
    Ok(())
}

fn collect(folder: &Path, programs: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if name.starts_with('_') {
            continue;
        }
        if path.is_dir() {
            if !EXCLUDED.contains(&name.as_str()) {
                collect(&path, programs)?;
            }
        } else if path.extension().is_some_and(|kind| kind == "js") {
            programs.push(path);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    failures: Vec<String>,
    resolved: u64,
    alarms: BTreeMap<String, BTreeSet<String>>,
    few: BTreeMap<String, BTreeSet<String>>,
    alarmed: usize,
    few_programs: usize,
    mutants: usize,
    caught: usize,
    missed: Vec<Missed>,
    lifecycle: [usize; 5],
    programs: usize,
    cpu_seconds: f64,
}

/// A program with an invented name that was not found.
struct Missed {
    place: String,
    program: String,
}

fn survey(programs: &[PathBuf], index: &Index, stack: &BigStack) -> std::io::Result<Totals> {
    let methods: BTreeSet<&str> = method_names(index);
    let mut totals = Totals::default();
    let mut texts = Vec::new();
    for path in programs {
        let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
        if text.len() <= MAX_SOURCE_BYTES {
            texts.push((path.display().to_string(), text));
        }
    }
    let start = cpu_seconds();
    let findings: Vec<Findings> = texts.iter().map(|(_, text)| check(text, index, stack)).collect();
    totals.cpu_seconds = cpu_seconds() - start;
    totals.programs = texts.len();
    for ((name, text), found) in texts.iter().zip(&findings) {
        tally(&mut totals, name, found);
        if found.parse.ok && found.api.unknown.is_empty() {
            mutate(&mut totals, name, text, &Checker { index, methods: &methods, stack });
        }
    }
    Ok(totals)
}

/// CPU time of this thread: other processes on the machine do not count.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

fn method_names(index: &Index) -> BTreeSet<&str> {
    let members = index.rows().iter().flat_map(|row| &row.members);
    let methods = members.filter(|(_, member)| member.k == MemberKind::Method);
    methods.map(|(name, _)| name.as_str()).filter(|name| !BUILT_IN.contains(name)).collect()
}

fn tally(totals: &mut Totals, name: &str, found: &Findings) {
    if !found.parse.ok {
        let error = found.parse.errors.first();
        let said = error.map_or(String::new(), |one| format!("{}:{}", one.line, one.message));
        totals.failures.push(format!("{name}: {said}"));
    }
    totals.resolved += u64::from(found.api.resolved);
    totals.alarmed += usize::from(!found.api.unknown.is_empty());
    totals.few_programs += usize::from(!found.api.few_args.is_empty());
    for one in &found.api.unknown {
        let near = one.nearest.as_deref().unwrap_or("-");
        let key = format!("{} (nearest {near})", one.what);
        totals.alarms.entry(key).or_default().insert(format!("{name}:{}", one.line));
    }
    for one in &found.api.few_args {
        let key = format!("{} given {} of {}", one.what, one.given, one.needed);
        totals.few.entry(key).or_default().insert(format!("{name}:{}", one.line));
    }
    let parts = found.lifecycle;
    let all = [parts.preload, parts.create, parts.update, parts.scene_class, parts.new_game];
    for (count, has) in totals.lifecycle.iter_mut().zip(all) {
        *count += usize::from(has);
    }
}

struct Checker<'c> {
    index: &'c Index,
    methods: &'c BTreeSet<&'c str>,
    stack: &'c BigStack,
}

fn mutate(totals: &mut Totals, name: &str, text: &str, checker: &Checker<'_>) {
    let calls = calls(text, checker.methods);
    if calls.is_empty() {
        return;
    }
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in Path::new(name).file_name().unwrap_or_default().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let chosen = calls[usize::try_from(hash % calls.len() as u64).unwrap_or(0)];
    let (before, after) = text.split_at(chosen.end as usize);
    let mutant = format!("{before}Ex{after}");
    totals.mutants += 1;
    if check(&mutant, checker.index, checker.stack).api.unknown.is_empty() {
        let line = before.matches('\n').count() + 1;
        let place = format!("{name}:{line}: {}", text.lines().nth(line - 1).unwrap_or("").trim());
        totals.missed.push(Missed { place, program: mutant });
    } else {
        totals.caught += 1;
    }
}

/// Places of the names of all calls of methods that the index knows by name.
fn calls(text: &str, methods: &BTreeSet<&str>) -> Vec<Span> {
    let arena = Allocator::default();
    let mut parsed = Parser::new(&arena, text, SourceType::mjs()).parse();
    if !parsed.diagnostics.is_empty() {
        parsed = Parser::new(&arena, text, SourceType::script()).parse();
    }
    let program = &*arena.alloc(parsed.program);
    let built = SemanticBuilder::new().with_build_nodes(true).build(program);
    let nodes = built.semantic.nodes();
    let own: BTreeSet<&str> = nodes
        .iter()
        .filter_map(|node| match node.kind() {
            AstKind::MethodDefinition(method) => method.key.static_name(),
            AstKind::ObjectProperty(property) if property.method => property.key.static_name(),
            _ => None,
        })
        .filter_map(|name| methods.get(&*name).copied())
        .collect();
    let call = |kind: AstKind<'_>| {
        let AstKind::CallExpression(call) = kind else { return None };
        let Expression::StaticMemberExpression(callee) = &call.callee else { return None };
        let name = callee.property.name.as_str();
        let is_global = matches!(&callee.object, Expression::Identifier(one) if GLOBALS.contains(&one.name.as_str()));
        let counts = methods.contains(name) && !own.contains(name) && !is_global;
        counts.then_some(callee.property.span)
    };
    nodes.iter().filter_map(|node| call(node.kind())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts of files")]
fn report(totals: &Totals) -> String {
    let (programs, seconds) = (totals.programs, totals.cpu_seconds);
    let percent = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    let mut lines = vec![
        format!("excluded: names with an underscore in front, and folders {}", EXCLUDED.join(", ")),
        format!("programs: {programs}, {:.0} a second of CPU time", programs as f64 / seconds),
        format!("do not parse: {}", totals.failures.len()),
        format!("lifecycle (preload, create, update, class, game): {:?}", totals.lifecycle),
        format!("resolved uses: {}", totals.resolved),
        format!(
            "programs with unknown names: {} ({:.2} %)",
            totals.alarmed,
            percent(totals.alarmed, programs)
        ),
        format!(
            "programs with few arguments: {} ({:.2} %)",
            totals.few_programs,
            percent(totals.few_programs, programs)
        ),
        format!(
            "recall: {} of {} ({:.2} %)",
            totals.caught,
            totals.mutants,
            percent(totals.caught, totals.mutants)
        ),
    ];
    for (title, found) in [("unknown names", &totals.alarms), ("few arguments", &totals.few)] {
        lines.push(format!("{title}:"));
        for (what, places) in found {
            let first = places.iter().next().map_or("", String::as_str);
            lines.push(format!("  {} {what}: {first}", places.len()));
        }
    }
    lines.push("not parsed:".to_owned());
    lines.extend(totals.failures.iter().map(|one| format!("  {one}")));
    lines.push("missed:".to_owned());
    lines.extend(totals.missed.iter().map(|one| format!("  {}", one.place)));
    lines.join("\n") + "\n"
}
