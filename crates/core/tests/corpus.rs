//! The corpus: shapes of replies that models write, each with what it holds.
//!
//! A shape in `testdata/*.txt` is a heading `#### name`, options (`form: plan`, `opened: yes`,
//! `reasoning: …`, `escapes: yes`), the part `---- reply`, and the parts `---- thinking`,
//! `---- plan` and `---- code ORIGIN` that must come out; a part that is absent must not. The
//! words `unclosed` behind thinking or plan say that the reply broke off inside it.

use std::collections::BTreeMap;
use std::fmt::Write;

use whetstone_core::extract::{Extraction, Form, Origin, Reply, extract};

const FILES: [(&str, &str); 6] = [
    ("thinking", include_str!("testdata/thinking.txt")),
    ("fences", include_str!("testdata/fences.txt")),
    ("truncated", include_str!("testdata/truncated.txt")),
    ("plain", include_str!("testdata/plain.txt")),
    ("plan", include_str!("testdata/plan.txt")),
    ("hostile", include_str!("testdata/hostile.txt")),
];

/// One shape: options by name, and parts by heading.
#[derive(Debug, Default)]
struct Shape {
    name: String,
    options: BTreeMap<String, String>,
    parts: BTreeMap<String, String>,
}

#[test]
fn every_shape_holds_what_the_corpus_says() {
    let mut wrong = String::new();
    for shape in FILES.iter().flat_map(|(file, text)| shapes(file, text)) {
        let (expected, found) = (expected(&shape), found(&shape));
        if expected != found {
            let _ = writeln!(wrong, "{}\n  expected {expected:#?}\n  found {found:#?}", shape.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn there_are_at_least_80_shapes_with_names_of_their_own() {
    let names: Vec<_> =
        FILES.iter().flat_map(|(file, text)| shapes(file, text)).map(|shape| shape.name).collect();
    let mut distinct = names.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    assert!(names.len() >= 80, "{}", names.len());
}

/// A reply that is read twice, or through Windows line ends, holds the same.
#[test]
fn windows_line_ends_change_nothing_but_the_thinking() {
    for shape in FILES.iter().flat_map(|(file, text)| shapes(file, text)) {
        let reply = shape.parts["reply"].replace("\r\n", "\n");
        let windows = reply.replace('\n', "\r\n");
        let form = form(&shape);
        let opened = shape.options.contains_key("opened");
        let plain = extract(Reply { opened, ..Reply::text(&reply) }, form);
        let other = extract(Reply { opened, ..Reply::text(&windows) }, form);
        assert_eq!(plain.code, other.code, "{}", shape.name);
        let thinking = other.thinking.map(|text| text.replace("\r\n", "\n"));
        assert_eq!(plain.thinking.as_deref(), thinking.as_deref(), "{}", shape.name);
    }
}

fn shapes(file: &str, text: &str) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let mut part: Option<String> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("#### ") {
            shapes.push(Shape { name: format!("{file}: {name}"), ..Shape::default() });
            part = None;
        } else if let Some(name) = line.strip_prefix("---- ") {
            part = Some(name.to_owned());
            shapes.last_mut().expect("a shape").parts.insert(name.to_owned(), String::new());
        } else if let Some(part) = &part {
            let shape = shapes.last_mut().expect("a shape");
            let body = shape.parts.get_mut(part).expect("a part");
            body.push_str(line);
            body.push('\n');
        } else {
            let (key, value) = line.split_once(": ").expect("an option");
            shapes.last_mut().expect("a shape").options.insert(key.into(), value.into());
        }
    }
    for shape in &mut shapes {
        let escapes = shape.options.contains_key("escapes");
        for body in shape.parts.values_mut() {
            *body = unescaped(body.strip_suffix('\n').unwrap_or(body), escapes);
        }
    }
    shapes
}

fn unescaped(text: &str, escapes: bool) -> String {
    if !escapes {
        return text.to_owned();
    }
    let mut out = text.replace("\\r", "\r").replace("\\t", "\t").replace("\\0", "\0");
    for c in ['\u{feff}', '\u{1b}', '\u{202e}', '\u{fffd}'] {
        out = out.replace(&format!("\\u{{{:x}}}", u32::from(c)), &c.to_string());
    }
    out.replace("\\n", "\n")
}

fn form(shape: &Shape) -> Form {
    match shape.options.get("form").map(String::as_str) {
        None => Form::ThinkPython,
        Some("plan") => Form::PlanJavascript,
        Some(other) => panic!("{}: no form {other}", shape.name),
    }
}

/// What comes out, by heading, as the corpus writes it.
fn found(shape: &Shape) -> BTreeMap<String, String> {
    let reply = Reply {
        text: &shape.parts["reply"],
        reasoning: shape.options.get("reasoning").map(String::as_str),
        opened: shape.options.contains_key("opened"),
    };
    let Extraction { thinking, plan, unclosed, code } = extract(reply, form(shape));
    let broken = if unclosed { " unclosed" } else { "" };
    let mut parts = BTreeMap::new();
    if let Some(text) = thinking {
        // Only the last one of the two can be what broke off.
        let broken = if plan.is_some() { "" } else { broken };
        parts.insert(format!("thinking{broken}"), text.into_owned());
    }
    if let Some(text) = plan {
        parts.insert(format!("plan{broken}"), text.into_owned());
    }
    if let Some(code) = code {
        assert_eq!(code.is_truncated(), code.origin == Origin::Unclosed);
        let origin = format!("{:?}", code.origin).to_lowercase();
        parts.insert(format!("code {origin}"), code.source.into_owned());
    }
    parts
}

fn expected(shape: &Shape) -> BTreeMap<String, String> {
    let parts = shape.parts.iter().filter(|(name, _)| *name != "reply");
    parts.map(|(name, body)| (name.clone(), body.clone())).collect()
}
