//! Rules on source files: `cycles`, `sizes`, `unsafe`, `print`, `head`, `metrics`, `parameters`, `words`.

use super::miniature::Miniature;
use xtask::tidy::words::{Reach, WORDS};

const FILE: &str = "crates/core/src/task.rs";

/// A file of `lines` lines, the second of which is given.
fn long(lines: usize, second: &str) -> String {
    format!("//! Long.\n{second}\n{}", "fn f() {}\n".repeat(lines - 2))
}

#[test]
fn a_long_file_gives_its_reason() {
    let tree = Miniature::clean();
    tree.write(FILE, &long(400, "")).check_tidy();
    tree.write(FILE, &long(401, "")).check("sizes", FILE, "401 lines");
    tree.write(FILE, &long(401, "// size:")).check("sizes", FILE, "401 lines");
    tree.write(FILE, &long(401, "// size: one table")).check_tidy();
}

#[test]
fn no_reason_excuses_a_file_that_is_too_long() {
    Miniature::clean().write(FILE, &long(801, "// size: one table")).check(
        "sizes",
        FILE,
        "800 is the limit",
    );
}

#[test]
fn test_data_may_be_long() {
    Miniature::clean().write("crates/core/testdata/long.rs", &long(900, "")).check_tidy();
}

#[test]
fn files_that_use_each_other_need_a_reason() {
    let tree = Miniature::clean();
    tree.write("crates/core/src/a.rs", "//! A.\nuse crate::b::B;\n").check_tidy();
    let cycle = "crates/core/src/a.rs, crates/core/src/b.rs";
    tree.write("crates/core/src/b.rs", "//! B.\nuse super::a::A;\n").check(
        "cycles",
        "crates/core/src/a.rs",
        cycle,
    );
}

#[test]
fn a_cycle_with_a_reason_is_kept_and_a_reason_without_a_cycle_is_not() {
    let tree = Miniature::clean();
    tree.write("crates/sandbox/src/supervisor/checked.rs", "//! A.\nuse super::slot::B;\n");
    tree.write("crates/sandbox/src/supervisor/slot.rs", "//! B.\nuse super::checked::A;\n");
    let problems = tree.problems();
    assert!(problems.iter().all(|problem| problem.rule != "cycles"), "{problems:#?}");
    tree.write("crates/sandbox/src/supervisor/slot.rs", "//! B.\n");
    let problems = tree.problems();
    let of_rule = problems.iter().filter(|problem| problem.rule == "cycles").collect::<Vec<_>>();
    assert!(of_rule.len() == 1 && of_rule[0].message.contains("is gone"), "{problems:#?}");
}

#[test]
fn unsafe_code_stays_in_its_crates() {
    let code = "//! Dark.\nfn f() { unsafe { g() } }\n";
    Miniature::clean()
        .write("crates/sandbox/src/jail.rs", code)
        .write("crates/kernels/src/launch.rs", code)
        .check_tidy();
    Miniature::clean().write(FILE, code).check(
        "unsafe",
        "crates/core/src/task.rs:2",
        "`kernels` and `sandbox`",
    );
}

#[test]
fn unsafe_in_a_comment_or_a_string_is_a_word() {
    let code = "//! Not unsafe.\n#![deny(unsafe_code)]\nconst WORD: &str = \"unsafe\";\n";
    Miniature::clean().write(FILE, code).check_tidy();
}

#[test]
fn only_the_cli_prints() {
    for line in ["println!(\"x\");", "eprint!(\"x\");", "let out = std::io::stdout();"] {
        let code = format!("//! Loud.\nfn f() {{ {line} }}\n");
        let tree = Miniature::clean();
        tree.write("crates/cli/src/main.rs", &code).check_tidy();
        tree.write(FILE, &code).check("print", "crates/core/src/task.rs:2", "only `cli` prints");
    }
}

#[test]
fn tests_and_build_scripts_may_print() {
    let code = "//! Loud.\nfn f() { println!(\"x\"); }\n";
    Miniature::clean()
        .write("crates/core/tests/loud.rs", code)
        .write("crates/core/build.rs", code)
        .write(FILE, "//! Quiet.\n\n#[cfg(test)]\nmod tests {\n    fn f() { println!() }\n}\n")
        .check_tidy();
}

#[test]
fn every_rust_file_says_what_it_is() {
    let tree = Miniature::clean();
    tree.write("benches/benches/speed.rs", "fn main() {}\n").check(
        "head",
        "benches/benches/speed.rs",
        "begin the file with a `//!` comment",
    );
}

#[test]
fn a_parameter_is_no_tuple() {
    for parameter in ["(a, b): (u8, u8)", "pair: &(u8, u8)", "(a, b): Pair"] {
        let code = format!("//! Pairs.\n\nfn f({parameter}) {{}}\n");
        let (file, message) = ("crates/core/src/task.rs:3", "`f` takes a tuple");
        Miniature::clean().write(FILE, &code).check("parameters", file, message);
    }
    let data = "//! Data.\nfn f(all: &[(u8, u8)]) { all.iter().map(|(a, b)| a + b) }\n";
    Miniature::clean().write(FILE, data).check_tidy();
}

#[test]
fn a_parameter_says_what_it_is() {
    for code in ["fn f(it: u8) {}", "fn f() { g(|it| it + 1) }", "fn f() { g(|(_, it)| it) }"] {
        let code = format!("//! It.\n{code}\n");
        let file = "crates/core/src/task.rs:2";
        Miniature::clean().write(FILE, &code).check("parameters", file, "say what it is");
    }
    let code = "//! It.\nfn f(item: u8) { let it = item | 1; g(it); }\n";
    Miniature::clean().write(FILE, code).check_tidy();
}

#[test]
fn an_exception_that_excuses_nothing_is_a_problem() {
    let file = "crates/sandbox/tests/agreement/case.rs";
    let clean = Miniature::clean();
    clean.write(file, "//! Case.\nfn f(it: u8) {}\n").check_tidy();
    clean.write(file, "//! Case.\nfn f(item: u8) {}\n").check(
        "parameters",
        file,
        "no longer needs",
    );
}

#[test]
fn every_forbidden_word_is_found_where_it_is_forbidden() {
    for word in WORDS {
        let path =
            if word.reach == Reach::Pages { "docs/guides/look.md" } else { "configs/a.toml" };
        let text = format!("first\nsee {}: x\n", word.text);
        let tree = Miniature::clean();
        tree.write(path, &text).check("words", &format!("{path}:2"), word.text);
    }
}

#[test]
fn words_of_pages_are_allowed_in_code() {
    for word in WORDS.iter().filter(|word| word.reach == Reach::Pages) {
        let text = format!("//! A task.\n// see {}: x\n", word.text);
        Miniature::clean().write(FILE, &text).check_tidy();
    }
}

#[test]
fn a_word_inside_another_is_not_forbidden() {
    for word in WORDS {
        let text = format!("name-of-a-folder{}X or A{0}A\n", word.text);
        Miniature::clean().write("configs/a.toml", &text).check_tidy();
    }
}

#[test]
fn test_data_may_hold_marks_but_no_paths_of_one_machine() {
    for word in WORDS {
        let tree = Miniature::clean();
        tree.write("crates/core/testdata/reply.txt", &format!("# {}\n", word.text));
        assert_eq!(tree.problems().is_empty(), word.reach != Reach::Everywhere, "{word:?}");
    }
}

#[test]
fn a_metric_has_its_name_in_one_place() {
    let table = "//! Metrics.\npub const A: Metric = metric(\"grpo/entropy\");\n";
    let tree = Miniature::clean();
    tree.write("crates/core/src/metric.rs", table)
        .write("crates/core/src/other.rs", "//! Seeds.\nfn f() { derive(\"eval/pauses\") }\n")
        .write("assets/page.js", "// A chart.\nconst NAMES = [\"grpo/entropy\"];\n")
        .check_tidy();
    let literal = "//! Puts.\nfn f() { put(\"grpo/entropy\") }\n";
    tree.write(FILE, literal).check("metrics", &format!("{FILE}:2"), "use its constant");
    let test = "//! Puts.\n#[cfg(test)]\nmod tests { const NAME: &str = \"grpo/entropy\"; }\n";
    tree.write(FILE, test).check_tidy();
    tree.write("assets/page.js", "const NAMES = [\"grpo/entropie\"];\n").check(
        "metrics",
        "assets/page.js:1",
        "`grpo/entropie`, which is not in",
    );
}
