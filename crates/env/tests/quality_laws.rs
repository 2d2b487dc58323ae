//! What holds of the quality score, whatever the program.
//!
//! Over MBPP's reference solutions where they are there (an eighth of them, or all with
//! `WHETSTONE_FULL=1`), over a few programs of our own always.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::corpus;
use crate::support::cpython::Python;
use proptest::prelude::*;
use ruff_python_ast::PythonVersion;
use whetstone_core::config::QualityWeights;
use whetstone_env::python::quality::{QualityScores, report};
use whetstone_env::python::syntax::check;
use whetstone_env::stack::{BigStack, on_big_stack};

/// The most that comments may add.
const COMMENTS: f64 = 0.04;
/// For sums that are taken in another order.
const SLACK: f64 = 1e-12;

const PLAIN: &str = "\
def solve(data, k):
    res = []
    for i in range(len(data)):
        if data[i] > 0:
            for j in range(i, len(data)):
                if data[j] % k == 0:
                    if data[i] != data[j] and data[i] < data[j]:
                        res.append((data[i], data[j]))
                    else:
                        if data[i] == None:
                            continue
    return res
";

const REFACTORED: &str = "\
def solve(data, k):
    \"\"\"Return pairs of a positive entry of data and a larger later multiple of k.\"\"\"
    pairs = []
    for start, first in enumerate(data):
        if first > 0:
            pairs.extend(larger_multiples(first, data[start:], k))
    return pairs


def larger_multiples(first, later, k):
    \"\"\"Return (first, other) for each multiple of k in later that exceeds first.\"\"\"
    return [(first, other) for other in later if other % k == 0 and first < other]
";

const SCRIPT: &str =
    "n = int(input())\ntotal = 0\nfor i in range(n):\n    total += i\nprint(total)\n";

fn measured(source: &str, roots: &[&str], stack: &BigStack) -> Option<QualityScores> {
    let module = check(source, PythonVersion::PY313, stack).ok()?;
    Some(report(&module, roots, stack))
}

fn score(source: &str, roots: &[&str], stack: &BigStack) -> Option<f64> {
    Some(measured(source, roots, stack)?.quality().mean(&QualityWeights::default()))
}

fn quality(source: &str, roots: &[&str]) -> f64 {
    on_big_stack(|stack| score(source, roots, stack)).unwrap().expect(source)
}

/// Programs with the names that their tests call.
fn programs() -> Vec<(String, Vec<String>)> {
    let own =
        [PLAIN, REFACTORED, SCRIPT].map(|source| (source.to_owned(), vec!["solve".to_owned()]));
    let word = |assert: &String| {
        let call = assert.trim_start_matches("assert").trim_start();
        call.split('(').find(|name| !name.is_empty()).unwrap_or_default().trim().to_owned()
    };
    let step = if std::env::var_os("WHETSTONE_FULL").is_some() { 1 } else { 8 };
    let mbpp = corpus::mbpp().into_iter().step_by(step).map(|problem| {
        let roots = problem.test_list.iter().map(word).collect();
        (problem.code.replace("\r\n", "\n"), roots)
    });
    own.into_iter().chain(mbpp).collect()
}

/// Checks a law on every program, with the names that its tests call and without any.
fn for_every_program(law: impl Fn(&str, &[&str], &BigStack) + Sync) {
    let programs = programs();
    on_big_stack(|stack| {
        for (source, roots) in &programs {
            let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
            if check(source, PythonVersion::PY313, stack).is_ok() {
                law(source, &roots, stack);
                law(source, &[], stack);
            }
        }
    })
    .unwrap();
}

#[track_caller]
fn not_better(before: &str, after: &str, roots: &[&str], slack: f64, stack: &BigStack) {
    let old = score(before, roots, stack).unwrap();
    let Some(new) = score(after, roots, stack) else { return };
    assert!(
        new <= old + slack,
        "{old} became {new} with roots {roots:?}:\n{before}\n----\n{after}"
    );
}

/// `inserted` before each line that begins a statement at the top of a block, at its indentation.
fn before_lines(source: &str, inserted: &str) -> String {
    let line = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        format!("{indent}{inserted}\n{line}\n")
    };
    source.lines().map(line).collect()
}

#[test]
fn comments_add_next_to_nothing() {
    let texts = [
        "# x",
        "# loop over the data and append each result",
        "# x = 1 + 2",
        "# Return the result of the function for each value in the list",
    ];
    for_every_program(|source, roots, stack| {
        for text in texts {
            not_better(source, &before_lines(source, text), roots, COMMENTS, stack);
            let many: Vec<_> = (0..30).map(|n| format!("{text} number {n}")).collect();
            let many = many.join("\n");
            not_better(source, &format!("{many}\n{source}"), roots, COMMENTS, stack);
        }
    });
}

#[test]
fn junk_in_comments_and_docstrings_adds_nothing() {
    let junk = ["# x", "# x = 1 + 2", "# lorem ipsum dolor sit amet", "# return res.append(x)"];
    for text in junk {
        let commented = before_lines(PLAIN, text);
        assert!(quality(&commented, &["solve"]) <= quality(PLAIN, &["solve"]), "{text}");
    }
    for docstring in [
        "lorem ipsum dolor sit amet consectetur",
        "solve solve solve",
        "data data data data data data data data data",
        "x",
        "This is it.",
    ] {
        let first = PLAIN.lines().next().unwrap();
        let documented = PLAIN.replacen(first, &format!("{first}\n    \"\"\"{docstring}\"\"\""), 1);
        assert!(quality(&documented, &["solve"]) <= quality(PLAIN, &["solve"]), "{docstring}");
    }
}

/// A function that looks better than most, under another name each.
fn padding(number: usize) -> String {
    format!(
        "\n\ndef unused_helper_{number}(value, limit):\n    \
         \"\"\"Return the given value, but never more than the limit allows.\"\"\"\n    \
         # keep the value below the limit\n    return min(value, limit)\n"
    )
}

#[test]
fn padding_adds_nothing() {
    for_every_program(|source, roots, stack| {
        for count in [1, 10] {
            let padding: String = (0..count).map(padding).collect();
            not_better(source, &format!("{source}{padding}"), roots, SLACK, stack);
            not_better(source, &format!("{padding}\n\n{source}"), roots, SLACK, stack);
        }
        let class =
            format!("{source}\n\nclass Unused:\n    \"\"\"Holds a value and its limit.\"\"\"\n");
        not_better(source, &class, roots, SLACK, stack);
    });
}

#[test]
fn code_that_never_runs_adds_nothing() {
    for_every_program(|source, roots, stack| {
        for dead in [
            "if False:\n    print('never')",
            "if 0:\n    unused_total = 1\nelse:\n    pass",
            "while False:\n    break",
            "def never_called(value):\n    return value",
            "import itertools",
            "'a string that says what the next value is'",
            "never_read_again = 1",
        ] {
            not_better(source, &format!("{}\n{dead}\n", source.trim_end()), roots, SLACK, stack);
            not_better(source, &format!("{dead}\n{source}"), roots, SLACK, stack);
        }
        // After the last statement of a function that ends in a `return`.
        let last = source.trim_end().lines().last().unwrap_or_default();
        if last.trim_start().starts_with("return") {
            let indent = &last[..last.len() - last.trim_start().len()];
            let after =
                format!("{}\n{indent}unreached = 1\n{indent}print(unreached)\n", source.trim_end());
            not_better(source, &after, roots, SLACK, stack);
        }
    });
}

#[test]
fn only_layout_sees_how_the_text_is_set() {
    let Some(python) = Python::find() else { return };
    // `ast.unparse` drops comments, so programs without any are compared.
    let programs: Vec<_> = programs()
        .into_iter()
        .filter(|(source, _)| !source.contains('#'))
        .filter(|(source, _)| on_big_stack(|s| measured(source, &[], s)).unwrap().is_some())
        .collect();
    let sources: Vec<_> = programs.iter().map(|(source, _)| source.clone()).collect();
    let reset = python.unparse(&sources);
    let without_layout = |source: &str, roots: &[&str], stack: &BigStack| {
        let report = measured(source, roots, stack).unwrap();
        QualityScores { layout: 0.0, ..report }
    };
    on_big_stack(|stack| {
        for ((source, roots), reset) in programs.iter().zip(&reset) {
            let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
            let (before, after) =
                (without_layout(source, &roots, stack), without_layout(reset, &roots, stack));
            assert_eq!(before, after, "{source}\n----\n{reset}");
        }
    })
    .unwrap();
    println!("{} programs set again", programs.len());
}

#[test]
fn a_real_refactoring_helps_and_tricks_do_not() {
    let dense = "solve = lambda data, k: [(data[i], data[j]) for i in range(len(data)) \
                 if data[i] > 0 for j in range(i, len(data)) if data[j] % k == 0 \
                 if data[i] != data[j] and data[i] < data[j]]\n";
    let first = PLAIN.lines().next().unwrap();
    let good = format!(
        "{first}\n    \"\"\"Return pairs of data whose larger part is a multiple of k.\"\"\""
    );
    let table = [
        ("plain", PLAIN.to_owned()),
        ("+ 1 junk comment", format!("# x\n{PLAIN}")),
        ("+ 80 junk comments", format!("{}{PLAIN}", "# x\n".repeat(80))),
        ("+ 10 comments about it", {
            let comment = |n| format!("# the data at step {n} goes into res\n");
            format!("{}{PLAIN}", (0..10).map(comment).collect::<String>())
        }),
        ("+ commented-out code", before_lines(PLAIN, "# data[i] = k + 1")),
        (
            "+ junk docstring",
            PLAIN.replacen(
                first,
                &format!("{first}\n    \"\"\"lorem ipsum dolor sit amet\"\"\""),
                1,
            ),
        ),
        ("+ good docstring", PLAIN.replacen(first, &good, 1)),
        ("+ dead code", format!("{PLAIN}    print(res)\n    res = res + res\n")),
        ("+ 10 padding functions", format!("{PLAIN}{}", (0..10).map(padding).collect::<String>())),
        ("as one dense lambda", dense.to_owned()),
        ("refactored", REFACTORED.to_owned()),
    ];
    let scores: Vec<f64> = table.iter().map(|(_, source)| quality(source, &["solve"])).collect();
    for ((name, _), score) in table.iter().zip(&scores) {
        println!("{name:24} {score:.3}");
    }
    let plain = scores[0];
    assert!(scores[1..=2].iter().all(|score| *score <= plain), "junk comments");
    assert!(scores[3] <= plain + COMMENTS, "comments");
    assert!(scores[4..=5].iter().all(|score| *score <= plain), "junk");
    assert!(scores[6] > plain + 0.1, "a good docstring helps");
    assert!(scores[7..=8].iter().all(|score| *score < plain), "dead code and padding");
    assert!(scores[10] > plain + 0.3 && scores[10] > scores[9] + 0.2, "refactored");
}

#[test]
fn the_scores_of_reference_solutions_are_spread() {
    let programs = programs();
    let scores = on_big_stack(|stack| {
        let score = |(source, roots): &(String, Vec<String>)| {
            let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
            score(source, &roots, stack)
        };
        let mut scores: Vec<f64> = programs.iter().filter_map(score).collect();
        scores.sort_by(f64::total_cmp);
        scores
    })
    .unwrap();
    let at = |percent: usize| scores[(scores.len() - 1) * percent / 100];
    println!(
        "{} programs: 5 % {:.3}, median {:.3}, 95 % {:.3}",
        scores.len(),
        at(5),
        at(50),
        at(95)
    );
    assert!(at(95) - at(5) > 0.05);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_text_has_a_score_between_0_and_1_or_none(text in "\\PC{0,200}") {
        let score = on_big_stack(|stack| score(&text, &[], stack)).unwrap();
        prop_assert!(score.is_none_or(|score| (0.0..=1.0).contains(&score)));
    }

    #[test]
    fn any_python_like_text_has_a_score_between_0_and_1_or_none(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "def f(x):\n    ", "x", " = ", "(", ")", "\n", "\n    ", "if x:\n        ", "return ",
                "for i in x:\n        ", "lambda: ", "[", "]", " + ", "1", "'a'", "# b\n", "\"\"\"c\"\"\"",
                "class C:\n    ", "pass", ": ", " and ", " if y else ", "import a\n", ", ",
            ]),
            0..40,
        ),
    ) {
        let text = words.concat();
        let score = on_big_stack(|stack| score(&text, &[], stack)).unwrap();
        prop_assert!(score.is_none_or(|score| (0.0..=1.0).contains(&score)));
    }

    #[test]
    fn any_comment_anywhere_adds_next_to_nothing(
        comments in prop::collection::vec(("[ -~äß中]{0,80}", any::<prop::sample::Index>()), 1..20),
        program in prop::sample::select(vec![PLAIN, REFACTORED, SCRIPT]),
        named in any::<bool>(),
    ) {
        let mut lines: Vec<String> = program.lines().map(str::to_owned).collect();
        for (comment, place) in comments {
            let at = place.index(lines.len());
            lines[at] = format!("{}  # {comment}", lines[at]);
        }
        let commented = lines.join("\n");
        let roots: &[&str] = if named { &["solve"] } else { &[] };
        prop_assert!(quality(&commented, roots) <= quality(program, roots) + COMMENTS);
    }
}
