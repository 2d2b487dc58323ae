//! What reading a hostile reply costs: extraction, syntax, quality, steadiness, entry point.
//!
//! All of this runs on threads of the scorer, outside the limits of the jail, so it must be bounded
//! by itself. Each family is a reply of 64 KiB and one of 1 MiB. With `--no-capture` the costs are
//! printed, costliest first.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use whetstone_core::config::RewardConfig;
use whetstone_core::extract::Reply;
use whetstone_core::task::Task;
use whetstone_core::wire::Wire;
use whetstone_env::python::Rules;
use whetstone_env::stack::{BigStack, on_big_stack};

/// What a reply may cost at once, in a build that is not optimised: what takes longer is compared
/// with an honest reply. A comment that was parsed without limits took 1.7 s in an optimised build.
const LIMIT: Duration = Duration::from_millis(1_500);

/// The most that a reply may cost, in costs of an honest reply of 64 KiB. The costliest takes 6.
const SHARE: u32 = 30;

/// Text around a piece that is repeated until the program is full.
struct Family {
    start: &'static str,
    piece: &'static str,
    end: &'static str,
}

const fn family(start: &'static str, piece: &'static str, end: &'static str) -> Family {
    Family { start, piece, end }
}

const PYTHON: [Family; 34] = [
    // Comments, which are looked at for code if they speak of the program and have marks of code.
    family("def longest(words): return words\n# longest words found = ", "f'{a:{", ""),
    family("def longest(words): return words\n# longest words found = ", "f'{", ""),
    family("def longest(words): return words\n# f'{longest + words + found:{", "f'{a:{", ""),
    family("def longest(words): return words\n# longest = words, found = ", "(", ""),
    family("def longest(words): return words\n# longest = words = found = ", "lambda a=", "1"),
    family("def longest(words): return words\n# longest = words = found = ", "-", "1"),
    family("def f(a): return a\n", "# a = (1)\n", ""),
    family("def f(a): return a\n", "# longest = words(found)\n", ""),
    family(
        "def f(a): return a\n",
        "# longest = words + found + f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{f'{a:{\n",
        "",
    ),
    family(
        "def f(a): return a\n",
        "# ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((\n",
        "",
    ),
    family("def f(a): return a\n", "#\n", ""),
    family("", "def f(a):\n    return a\n# f a b\n", ""),
    // Definitions, names and words.
    family("", "def f(a): return f(a)\n", ""),
    family("", "class C: pass\n", ""),
    family("", "a=1\n", ""),
    family("def f(", "a,", "**k): pass"),
    family("def f(a):\n    '''", "f a b c ", "'''\n    return a"),
    family("def f(a):\n    '''", ":param a: f\n    ", "'''\n    return a"),
    family("", "a_b_c_d_e_f_", " = 1"),
    family("", "aB", " = 1"),
    family("f = 1\n", "if f: f = 1\n", ""),
    family("f = 1\n", "f;", ""),
    family("f = [", "f,", "]"),
    family("f = '", "{a.b}", "'"),
    family("f = '", "{", "'"),
    family("", "import a\n", ""),
    family("", "from a import b as c\n", ""),
    family("def f(a):\n", "    a.b = a.c\n", "    return a"),
    family("def f(a):\n    return a", ".b", ""),
    family("def f(a):\n    return a", "(a)", ""),
    family("f = a", " + a", ""),
    family("", "\n", "f = 1"),
    family("", "f=1;\\\n", "f=1"),
    family("f = \"\"\"", "\\N{BULLET}", "\"\"\""),
];

const JAVASCRIPT: [Family; 30] = [
    family("", "(", ""),
    family("", "[", ""),
    family("", "{", ""),
    family("", "!", "1"),
    family("", "- ", "1"),
    family("", "a=>", "1"),
    family("", "a=", "1"),
    family("", "a?", "b"),
    family("", "a?b:", "c"),
    family("1", "**1", ""),
    family("1", "+1", ""),
    family("", "new ", "a"),
    family("", "typeof ", "a"),
    family("", "await ", "a"),
    family("", "a:", "b"),
    family("", "if(a)", "b"),
    family("", "if(a);else ", "b"),
    family("", "for(;;)", "b"),
    family("", "async a=>", "1"),
    family("`", "${`", ""),
    family("a", ".b", ""),
    family("a", "?.b", ""),
    family("a", "`b`", ""),
    family("", "/a/;", ""),
    family("", "let a;", ""),
    family("", "function a(){}", ""),
    family("", "<!--\n", ""),
    family("", "//(\n", ""),
    family("", "'('+", "1"),
    family("class A{", "#a;", "}"),
];

/// Nested as deep as is read at all, so that reading twice would double with every level.
const NESTED_JAVASCRIPT: [(&str, &str); 10] = [
    ("(a=", ")"),
    ("(a,", ")"),
    ("(a=(b,c)=>", ")"),
    ("async(a,", ")"),
    ("({a:", "})"),
    ("[a=", "]"),
    ("({a=", "})"),
    ("(x=`${", "}`)"),
    ("(function(a=", "){})"),
    ("for((a)in(", "));"),
];

const REPLIES: [Family; 14] = [
    family("", "```", ""),
    family("", "```python\n", ""),
    family("", "```python\nf = 1\n```\n", ""),
    family("", "<think>", ""),
    family("<think>", "</think>", ""),
    family("", "`", ""),
    family("", "~~~\n", ""),
    family("", "def f(a):\n", ""),
    family("", "def f(a):\n    return a\n\n", ""),
    family("", "[PLAN]", "[/PLAN]"),
    family("", "    ", "f = 1"),
    family("", ">>> f(1)\n", ""),
    family("", "(", ""),
    family("", "\"\"\"", ""),
];

fn full(family: &Family, bytes: usize) -> String {
    let Family { start, piece, end } = family;
    let times = (bytes - start.len() - end.len()) / piece.len();
    format!("{start}{}{end}", piece.repeat(times))
}

fn task_in(language: &str) -> Task {
    let line = format!(
        r#"{{"id":"a","statement":"s","language":"{language}","tests":{{"kind":"calls","entry_point":"f","hidden":[{{"args":[1],"expected":1}}]}}}}"#
    );
    Task::from_object(serde_json::from_str(&line).unwrap()).unwrap()
}

/// The replies of every family: what it is, the task, and the text.
fn replies() -> Vec<(String, Task, String)> {
    let mut replies = Vec::new();
    let (python, javascript) = (task_in("python"), task_in("javascript"));
    for bytes in [(64 << 10) - 1, 1 << 20] {
        let mut add = |name: String, task: &Task, text: String| {
            replies.push((format!("{bytes:>7} {name}"), task.clone(), text));
        };
        for family in &PYTHON {
            let text = format!("```python\n{}\n```", full(family, bytes));
            add(format!("python {:?} {:?}", family.start, family.piece), &python, text);
        }
        for family in &JAVASCRIPT {
            let text = format!("```javascript\n{}\n```", full(family, bytes));
            add(format!("javascript {:?}", family.piece), &javascript, text);
        }
        for (open, close) in NESTED_JAVASCRIPT {
            let brackets = |text: &str| text.matches(['(', '[', '{']).count();
            let times = 498 / brackets(open);
            for closed in ["", close] {
                let text = format!("{}1{}", open.repeat(times), closed.repeat(times));
                let text = format!("```javascript\nf = {text}\n```");
                add(format!("javascript nested {open:?} {closed:?}"), &javascript, text);
            }
        }
        for family in &REPLIES {
            for task in [&python, &javascript] {
                add(format!("reply {:?}", family.piece), task, full(family, bytes));
            }
        }
    }
    replies
}

fn time(rules: &Rules, task: &Task, text: &str, stack: &BigStack) -> Duration {
    let start = Instant::now();
    let _ = rules.read(task, Reply::text(text), stack);
    start.elapsed()
}

/// The least of ten times of a reply, and of an honest one in between: a machine that stands still
/// for a while delays both.
fn compare(rules: &Rules, task: &Task, text: &str, stack: &BigStack) -> (Duration, Duration) {
    let program = full(&family("", "def f(a):\n    return a + 1\n\n\n", ""), (64 << 10) - 1);
    let (python, honest) = (task_in("python"), format!("```python\n{program}\n```"));
    let both = || (time(rules, task, text, stack), time(rules, &python, &honest, stack));
    let least = |(a, b): (Duration, Duration), (c, d): (Duration, Duration)| (a.min(c), b.min(d));
    (0..10).map(|_| both()).reduce(least).unwrap()
}

#[test]
fn no_reply_costs_more_than_its_share() {
    let rules = Rules::new(RewardConfig::default());
    let replies = replies();
    let mut costs = on_big_stack(|stack| {
        let cost = |(name, task, text): &(String, Task, String)| {
            let once = time(&rules, task, text, stack);
            if once >= LIMIT {
                let (least, honest) = compare(&rules, task, text, stack);
                assert!(least < honest * SHARE, "{least:?}, an honest reply {honest:?}: {name}");
            }
            (once, name.clone())
        };
        replies.iter().map(cost).collect::<Vec<_>>()
    })
    .unwrap();
    costs.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
    for (cost, name) in costs.iter().take(25) {
        println!("{:>9.1} ms  {name}", cost.as_secs_f64() * 1e3);
    }
}
