//! Whether programs parse, and how they are refused.

use whetstone_phaser::check::{Findings, MAX_SOURCE_BYTES, ParseMode};

use crate::program::findings;

fn errors(source: &str) -> Vec<(u32, u32)> {
    let found = findings(source);
    assert!(!found.parse.ok, "{source}");
    assert_eq!(Findings { parse: found.parse.clone(), ..Findings::default() }, found, "{source}");
    found.parse.errors.iter().map(|error| (error.line, error.column)).collect()
}

#[test]
fn modules_and_scripts_parse() {
    for (source, mode) in [
        ("", ParseMode::Module),
        ("\u{feff}import Phaser from 'phaser'; await 1;", ParseMode::Module),
        ("with (a) { b = 010; }", ParseMode::Script),
        ("delete x; var await = 1;", ParseMode::Script),
    ] {
        let parse = findings(source).parse;
        assert!(parse.ok && parse.errors.is_empty(), "{source}");
        assert_eq!(parse.mode, mode, "{source}");
    }
}

#[test]
fn what_does_not_parse_is_refused_with_its_place() {
    assert_eq!(errors("const a = 1;\nconst = 2;")[0], (2, 7));
    assert_eq!(errors("class A extends {").len(), 1);
    assert!(!errors("I am sorry, I cannot.").is_empty());
    assert!(!errors("const f = (x: number) => x;").is_empty());
}

#[test]
fn early_errors_are_refused() {
    assert_eq!(errors("let a;\nlet a;")[0].0, 1);
    for source in [
        "break;",
        "class A { constructor() {} constructor() {} }",
        "super();",
        "let x; var x;",
        "return 1",
    ] {
        assert!(!errors(source).is_empty(), "{source}");
    }
}

#[test]
fn a_program_that_is_too_long_is_refused_by_its_length() {
    let long = "/".repeat(MAX_SOURCE_BYTES + 1);
    assert_eq!(errors(&long), [(1, 1)]);
    assert!(findings(&long).parse.errors[0].message.contains("65537 bytes"));
    assert!(findings(&long[1..]).parse.ok);
}

#[test]
fn a_program_that_is_nested_too_deeply_is_refused() {
    assert_eq!(errors(&"[".repeat(501)), [(1, 1)]);
}

#[test]
fn messages_are_bounded_and_plain() {
    let found = findings(&format!("let a; let \u{7}{} = 1 1;", "b".repeat(9000)));
    assert!(found.parse.errors.iter().all(|error| error.message.chars().count() <= 161));
}
