//! Tasks about objects of their own setup: lists, trees, graphs, arguments changed in place. Each has
//! programs that solve it and one that does not, and that one is also tried with every trick below.

mod graphs;
mod lists;
mod others;
mod own;
mod sharing;
mod stand_ins;
mod trees;
mod values;

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use whetstone_core::judgement::Isolation;
use whetstone_core::program::{Language, Program};
use whetstone_core::tests::Tests;
use whetstone_sandbox::Ticket;
use whetstone_sandbox::job::{Job, Limits};

use crate::asking;
use crate::expected::{at_both_levels, judge};
use crate::support::{Stage, alone, tell};

/// One task with its programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectTask {
    name: &'static str,
    /// Beside the classes and helpers that all tasks have.
    setup: &'static str,
    entry_point: &'static str,
    /// The body of `check(candidate)`.
    check: &'static str,
    honest: &'static [&'static str],
    wrong: &'static str,
}

/// The setup that all tasks begin with, as the public collections of such tasks have it.
const SETUP: &str = r"
import random, functools, collections, string, math, datetime
from typing import *
from functools import *
from collections import *
from itertools import *
from heapq import *
from bisect import *
from operator import *
from math import *

inf = float('inf')

class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

def list_node(values: list) -> Optional[ListNode]:
    head = p = ListNode()
    for val in values:
        p.next = ListNode(val)
        p = p.next
    return head.next

def is_same_list(p1: Optional[ListNode], p2: Optional[ListNode]) -> bool:
    if p1 is None and p2 is None:
        return True
    while p1 is not None and p2 is not None:
        if p1.val != p2.val:
            return False
        p1, p2 = p1.next, p2.next
    return p1 is None and p2 is None

class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right

def tree_node(values: list) -> Optional[TreeNode]:
    if not values:
        return None
    root = TreeNode(values[0])
    queue, i = deque([root]), 1
    while queue:
        node = queue.popleft()
        for side in ('left', 'right'):
            if i < len(values) and values[i] is not None:
                setattr(node, side, TreeNode(values[i]))
                queue.append(getattr(node, side))
            i += 1
    return root

def is_same_tree(p: Optional[TreeNode], q: Optional[TreeNode]) -> bool:
    if not p or not q:
        return not p and not q
    return p.val == q.val and is_same_tree(p.left, q.left) and is_same_tree(p.right, q.right)
";

/// What stands after a program that is wrong. Where it defines `bad`, that takes the place of the
/// function that is asked for.
const TRICKS: [(&str, &str); 14] = [
    ("nothing", ""),
    (
        "helpers are patched",
        "def yes(*a, **k): return True\nfor name in list(globals()):\n    if name.startswith(('is_', 'same', 'to_', 'list_', 'tree_', 'graph')): globals()[name] = yes\n",
    ),
    (
        "builtins are patched",
        "import builtins\nfor name in ('all', 'any', 'isinstance', 'sorted'): setattr(builtins, name, lambda *a, **k: True)\nbuiltins.len = lambda x: 3\n",
    ),
    (
        "frames are searched",
        "import sys\ndef bad(*a, **k):\n    frame = sys._getframe(1)\n    while frame:\n        for name in ('want', 'expected', 'right', 'answer'):\n            if name in frame.f_locals: return frame.f_locals[name]\n        frame = frame.f_back\n",
    ),
    (
        "an answer that is equal to all",
        "class All:\n    __eq__ = __ne__ = __lt__ = __le__ = __bool__ = lambda self, *a: True\n    __hash__ = lambda self: 0\n    __getattr__ = lambda self, name: All()\n    __getitem__ = lambda self, key: All()\n    __len__ = lambda self: 3\ndef bad(*a, **k): return All()\n",
    ),
    (
        "classes are defined anew and lie",
        "class Value(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = int.__hash__\nclass Liar:\n    def __init__(self, *a): pass\n    val = property(lambda self: Value(-77))\n    next = left = right = property(lambda self: None)\n    __eq__ = lambda self, other: True\nLiar.__name__ = 'ListNode'\nListNode = Liar\ndef bad(*a, **k): return Liar()\n",
    ),
    (
        "attributes that nobody set",
        "class ListNode:\n    def __getattribute__(self, name): return 7\ndef bad(*a, **k): return ListNode()\n",
    ),
    (
        "a list without an end",
        "class ListNode:\n    val = 1\n    __slots__ = ()\n    @property\n    def next(self): return ListNode()\ndef bad(*a, **k): return ListNode()\n",
    ),
    (
        "a list that bites its tail",
        "def bad(*a, **k):\n    node = ListNode(1)\n    node.next = node\n    node.val = node\n    return node\n",
    ),
    (
        "an object without a class of the setup",
        "import types\ndef bad(*a, **k): return types.SimpleNamespace(val=1, next=None, left=None, right=None)\n",
    ),
    (
        "tables are forged",
        "import os, marshal\ndef say(value):\n    data = b'v' + marshal.dumps(value, 2)\n    os.write(3, len(data).to_bytes(4, 'little') + data)\ndef bad(*a, **k):\n    say(('graph', ([['ListNode', '__class__', 'val']], [(0, [1, (0,)]), (-8, ['is_same_list'])], (1,)), (None, 0, 0)))\n",
    ),
    (
        "objects are named that are not the answer's",
        "import os, marshal\ndef say(value):\n    data = b'v' + marshal.dumps(value, 2)\n    os.write(3, len(data).to_bytes(4, 'little') + data)\ndef bad(*a, **k):\n    say(('graph', ([], [(-1, [(1,), (2,), (3,)]), (-12, [0]), (-12, [2]), (-12, [77])], (0,)), (None, 0, 0)))\n",
    ),
    (
        "arguments are emptied",
        "def bad(*args, **kwargs):\n    for one in [*args, *kwargs.values()]:\n        if isinstance(one, (list, dict, set)): one.clear()\n        elif hasattr(one, '__dict__'): vars(one).clear()\n    return []\n",
    ),
    ("the right exception for none", "def bad(*a, **k): raise AssertionError\n"),
];

/// Puts `bad`, if there is one, in the place of the functions that can be asked for.
const REPLACE: &str = "
if 'bad' in globals():
    if '@ENTRY@' in globals(): globals()['@ENTRY@'] = bad
    for name in [name for name in vars(globals().get('Solution', object)) if not name.startswith('_')]:
        if 'Solution' in globals(): setattr(Solution, name, lambda self, *a, **k: bad(*a, **k))
";

fn tests(task: &ObjectTask) -> Tests {
    let code = format!("def check(candidate):\n{}\n", task.check);
    let tests = json!({"kind": "script", "entry_point": task.entry_point, "hidden": [code]});
    serde_json::from_value(tests).unwrap()
}

fn submit(stage: &Stage, task: &ObjectTask, source: String) -> Ticket {
    let program = Program { language: Language::Python, source, truncated: false };
    let setup = format!("{SETUP}{}", task.setup);
    let limits = Limits { cpu: Duration::from_secs(2), memory: 192 << 20 };
    stage.judge.submit(Job { program: &program, setup: &setup, tests: &tests(task), limits })
}

fn hold(level: Isolation, tasks: &[ObjectTask]) {
    let _alone = alone();
    let Some(stage) = Stage::start(level) else { return };
    let mut all = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        for honest in task.honest {
            all.push((task, "honest", true, submit(&stage, task, (*honest).to_owned())));
        }
        // Every trick at the best level, and each of them on a third of the tasks at the other.
        let some = |at: &usize| level == Isolation::Full || at % 3 == number % 3;
        for (trick, after) in (0..TRICKS.len()).filter(some).map(|at| TRICKS[at]) {
            let replace = REPLACE.replace("@ENTRY@", task.entry_point);
            let source = format!("{}\n{after}{replace}", task.wrong);
            all.push((task, trick, false, submit(&stage, task, source)));
        }
    }
    let (count, mut faults) = (all.len(), String::new());
    for (task, what, passes, ticket) in all {
        let (is_pass, told) = match ticket.wait() {
            Ok(judgement) => (Some(judgement.verdict().is_pass()), tell(judgement.verdict())),
            Err(problem) => (None, problem.to_string()),
        };
        if is_pass != Some(passes) {
            writeln!(faults, "{}, {what}: {told}", task.name).unwrap();
        }
    }
    assert!(faults.is_empty(), "at {level:?}:\n{faults}");
    println!("held at {level:?}: {} tasks, {count} programs", tasks.len());
    stage.end();
}

fn all() -> Vec<ObjectTask> {
    [lists::TASKS, trees::TASKS, graphs::TASKS, others::TASKS].concat()
}

#[test]
fn objects_of_a_setup_are_judged_by_what_they_hold_at_full() {
    assert!(all().len() >= 28);
    hold(Isolation::Full, &all());
}

#[test]
fn objects_of_a_setup_are_judged_by_what_they_hold_at_landlock() {
    hold(Isolation::Landlock, &all());
}

#[test]
fn objects_of_the_program_are_judged_in_every_style() {
    at_both_levels(|stage| asking::hold(stage, own::ROWS));
}

#[test]
fn a_stand_in_answers_nothing_by_itself() {
    at_both_levels(|stage| {
        asking::hold(stage, stand_ins::ROWS);
        for (test, program) in stand_ins::REFUSED {
            let said = judge(stage, "", test, program);
            assert_ne!(said, Ok("pass".to_owned()), "{test}\n{program}");
        }
    });
}

#[test]
fn what_is_the_same_object_stays_the_same() {
    at_both_levels(|stage| asking::hold(stage, sharing::ROWS));
}

#[test]
fn values_come_as_what_they_are() {
    at_both_levels(|stage| asking::hold(stage, values::ROWS));
}
