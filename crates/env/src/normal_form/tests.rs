//! What raises the distance between two programs, and what does not.

use proptest::prelude::*;

use super::*;
use crate::stack::on_big_stack;

fn normal_all(sources: &[&str]) -> Vec<NormalProgram> {
    let program = |source: &&str| Program {
        language: Language::Python,
        source: (*source).to_owned(),
        truncated: false,
    };
    let programs: Vec<Program> = sources.iter().map(program).collect();
    on_big_stack(|stack| programs.iter().map(|program| NormalProgram::of(program, stack)).collect())
        .unwrap()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
}

fn distance(one: &str, other: &str) -> f64 {
    let programs = normal_all(&[one, other]);
    near(programs[0].distance(&programs[1]), programs[1].distance(&programs[0]));
    programs[0].distance(&programs[1])
}

#[track_caller]
fn same(one: &str, other: &str) {
    let programs = normal_all(&[one, other]);
    assert!(programs[0].tree.is_some() && programs[1].tree.is_some(), "both compile");
    assert!(programs[0].is_same(&programs[1]), "{one}\n---\n{other}");
    near(distance(one, other), 0.0);
}

#[track_caller]
fn differ(one: &str, other: &str) {
    let found = distance(one, other);
    assert!(found > 0.0 && found <= 1.0, "{found}\n{one}\n---\n{other}");
}

const LOOP: &str = "\
def total(values, limit=10):
    result = 0
    for value in values:
        if value < limit:
            result += value
    return result
";

const RENAMED: &str = "\
# Adds up what is small.
def add_up(xs: list[int], at_most: int = (10)) -> int:
    '''Adds up the small ones.

    With a docstring.'''
    acc: int = 0  # the sum

    for x in (xs):
        \"a text that says something\"
        if (x <
                at_most):
            acc += x; 
    return (acc)
";

const COMPREHENSION: &str = "\
def total(values, limit=10):
    return sum(value for value in values if value < limit)
";

const RECURSIVE: &str = "\
def total(values, limit=10):
    if not values:
        return 0
    head, *tail = values
    return (head if head < limit else 0) + total(tail, limit)
";

#[test]
fn names_comments_annotations_and_layout_do_not_matter() {
    same(LOOP, RENAMED);
    same("x = 'a'", "y = \"a\"");
    same("import numpy as np\nnp.sum(1,)", "import numpy as n\nn.sum(1)");
    same(
        "def f(a):\n    return g(a=1)\ndef g(a): pass",
        "def h(b):\n    return k(b=1)\ndef k(b): pass",
    );
}

#[test]
fn names_are_those_of_their_scope() {
    same(
        "def f(x):\n    return [x for x in range(x)]\ndef g(x):\n    return x",
        "def f(x):\n    return [x for x in range(x)]\ndef g(y):\n    return y",
    );
    same(
        "class A:\n    def area(self):\n        return self.side ** 2\n    def __init__(self, side):\n        self.side = side",
        "class B:\n    def size(me):\n        return me.w ** 2\n    def __init__(me, width):\n        me.w = width",
    );
    same(
        "n = 0\ndef f():\n    global n\n    n += 1\n",
        "count = 0\ndef g():\n    global count\n    count += 1\n",
    );
    same("if (n := 3) > 2:\n    print(n)", "if (m := 3) > 2:\n    print(m)");
}

#[test]
fn what_a_program_does_matters() {
    differ("def f(a, b): return a - b", "def f(a, b): return b - a");
    differ("def f(a): return min(a)", "def f(a): return max(a)");
    differ("def f(a): a.append(1)", "def f(a): a.remove(1)");
    differ("def f(a): return a < 1", "def f(a): return a <= 1");
    differ("def f(a): return a + 1", "def f(a): return a + 2");
    differ(
        "def f(a):\n    if a:\n        g()\n    h()",
        "def f(a):\n    if a:\n        g()\n        h()",
    );
    differ("def f(a): return '1'", "def f(a): return 1");
}

#[test]
fn one_sign_is_near_and_another_algorithm_is_far() {
    let sign = distance(LOOP, &LOOP.replace('<', "<="));
    assert!((0.02..0.35).contains(&sign), "{sign}");
    for (one, other) in [(LOOP, COMPREHENSION), (LOOP, RECURSIVE), (COMPREHENSION, RECURSIVE)] {
        let far = distance(one, other);
        assert!(far > 0.6 && far > 2.0 * sign, "{far}");
    }
}

#[test]
fn programs_that_do_not_compile_are_compared_by_their_text() {
    let broken = LOOP.replace("values:", "values");
    let typo = distance(LOOP, &broken);
    assert!(typo > 0.0 && typo < 0.2, "{typo}");
    near(distance(&broken, &broken.replace("value", "x").replace("result", "y")), 0.0);
    near(distance("", ""), 0.0);
    near(distance("", LOOP), 1.0);
}

/// Of three programs, two the same: distances 0, d, d.
#[test]
fn diversity_is_the_mean_over_pairs() {
    let far = distance(LOOP, RECURSIVE);
    let programs = normal_all(&[LOOP, RENAMED, RECURSIVE]);
    let found = diversity(&programs).unwrap();
    assert!((found - 2.0 * far / 3.0).abs() < 1e-12, "{found}");
    assert_eq!(diversity(&programs[..1]), None);
    assert_eq!(diversity(&programs[..2]), Some(0.0));
    let many = vec![programs[0].clone(); MAX_COMPARED];
    let more = [&many[..], &programs[2..]].concat();
    assert_eq!(diversity(&more), Some(0.0), "those past the first {MAX_COMPARED} are not compared");
}

#[test]
fn only_the_beginning_of_a_huge_program_is_read() {
    let huge = format!("{}é = 1\n", "x = 1\n".repeat(20_000));
    let programs = normal_all(&[&huge, &format!("{huge}y = 2")]);
    assert!(programs[0].is_same(&programs[1]) && programs[0].distance(&programs[1]) < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Jaccard's distance is a metric.
    #[test]
    fn the_way_over_a_third_program_is_not_shorter(
        sources in prop::collection::vec("(a|b|f\\(a\\)|\\+|1|\n| = ){0,12}", 3),
    ) {
        let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
        let all = normal_all(&texts);
        let text = |one: usize, other: usize| all[one].text.distance(&all[other].text);
        prop_assert!(text(0, 2) <= text(0, 1) + text(1, 2) + 1e-12);
        prop_assert!((0.0..=1.0).contains(&all[0].distance(&all[1])));
    }

    /// Every name of a program may be spelled otherwise.
    #[test]
    fn renaming_never_raises_the_distance(names in prop::collection::hash_set("[a-z]{3,8}x", 5)) {
        let names: Vec<String> = names.into_iter().collect();
        let mut renamed = LOOP.to_owned();
        for (own, other) in ["total", "values", "limit", "result"].iter().zip(&names) {
            renamed = renamed.replace(own, &format!("{other}_"));
        }
        renamed = renamed.replace("value ", &format!("{} ", names[4]));
        renamed = renamed.replace("value\n", &format!("{}\n", names[4]));
        prop_assert!(distance(LOOP, &renamed) < 1e-12);
    }
}
