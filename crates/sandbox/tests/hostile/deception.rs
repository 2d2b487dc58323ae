//! Answers that lie about themselves: values are compared outside, as plain data.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, Form, Stage, alone, call, hold};

pub(crate) const CASES: &[Case] = &[
    call(
        "an answer that equals everything",
        &["unserialisable"],
        r"
class Any:
    __hash__ = None
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def gap(a, b): return Any()
",
    ),
    call(
        "a number of a kind that equals everything",
        &["wrong"],
        r"
class Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def gap(a, b): return Number(-1)
",
    ),
    call(
        "a number of a kind that adds up to anything",
        &["wrong"],
        r"
class Number(int):
    def __add__(self, other): return 7
    __radd__ = __index__ = __int__ = __pos__ = __abs__ = lambda self, *_: 7
def gap(a, b): return Number(-1)
",
    ),
    call(
        "an object that says it is a number",
        &["unserialisable"],
        r"
class Liar:
    __class__ = int
    def __eq__(self, other): return True
    def __index__(self): return 7
def gap(a, b): return Liar()
",
    ),
    call(
        "an object that prints as the answer",
        &["unserialisable"],
        r"
class Shown:
    def __init__(self, value): self.value = value
    def __repr__(self): return str(self.value)
    __str__ = __repr__
    def __reduce__(self): return (int, (self.value,))
def gap(a, b): return Shown(abs(a - b))
",
    ),
    call(
        "an object that can be used as an index",
        &["unserialisable"],
        "class I:\n    def __index__(self): return 7\n    __int__ = __index__\ndef gap(a, b): return I()\n",
    ),
    call("true for a number", &["wrong"], "def gap(a, b): return True\n"),
    call("no number", &["wrong"], "def gap(a, b): return float('nan')\n"),
    call("more than any number", &["wrong"], "def gap(a, b): return float('inf')\n"),
    call("the number as text", &["wrong"], "def gap(a, b): return str(abs(a - b))\n"),
    call("the number in a list", &["wrong"], "def gap(a, b): return [abs(a - b)]\n"),
    call("the number as bytes", &["wrong"], "def gap(a, b): return bytes([abs(a - b)])\n"),
    call("nearly the number", &["wrong"], "def gap(a, b): return abs(a - b) + 1e-9\n"),
    call("every number", &["wrong"], "def gap(a, b): return list(range(100))\n"),
    call(
        "a kind as an answer, whose kind equals everything",
        &["unserialisable"],
        r"
class Meta(type):
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class Answer(metaclass=Meta): pass
def gap(a, b): return Answer
",
    ),
    call(
        "the stand-in of a test library",
        &["unserialisable"],
        "from unittest.mock import ANY\ndef gap(a, b): return ANY\n",
    ),
    call(
        "an answer that runs code when it is unpacked",
        &["unserialisable"],
        r"
import os
class Bomb:
    def __reduce__(self): return (os._exit, (0,))
    __getstate__ = __reduce__
def gap(a, b): return Bomb()
",
    ),
    call(
        "an answer that keeps what it is compared with",
        &["unserialisable"],
        r"
seen = []
class Spy:
    def __eq__(self, other):
        seen.append(other)
        return True
def gap(a, b): return seen.pop() if seen else Spy()
",
    ),
    call(
        "an answer that does arithmetic for the test",
        &["unserialisable"],
        r"
class Zero:
    def __sub__(self, other): return self
    __rsub__ = __abs__ = __sub__
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __eq__ = __lt__
    def __abs__(self): return self
def gap(a, b): return Zero()
",
    ),
    call(
        "an answer that is still to be computed",
        &["unserialisable"],
        "async def gap(a, b):\n    return abs(a - b)\n",
    ),
    call(
        "an answer one has to ask for",
        // Test code may look into an iterator, and sees no number.
        &["unserialisable", "wrong"],
        "def gap(a, b):\n    yield abs(a - b)\n",
    ),
    call(
        "something that looks like a number of numpy",
        &["unserialisable"],
        r"
class Scalar:
    dtype = 'int64'
    def item(self): return 7
    tolist = item
    def __array__(self): return self
Scalar.__module__ = 'numpy'
def gap(a, b): return Scalar()
",
    ),
    call(
        "a member of an enumeration with another value",
        &["wrong"],
        r"
import enum
class E(enum.IntEnum):
    SEVEN = -7
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def gap(a, b): return E.SEVEN
",
    ),
    call(
        "text of a kind that is encoded as it likes",
        &["wrong"],
        r"
class Text(str):
    def encode(self, *_): return b'i\x07\x00\x00\x00'
    def __str__(self): return 7
    __repr__ = __len__ = __iter__ = __str__
def gap(a, b): return Text('x')
",
    ),
    call(
        "a list of a kind that is longer than it looks",
        &["wrong"],
        r"
class L(list):
    def __iter__(self): return iter([7])
    def __len__(self): return -1
    def __eq__(self, other): return True
def gap(a, b): return L()
",
    ),
    call(
        "an exception as an answer",
        &["unserialisable"],
        "def gap(a, b): return StopIteration(7)\n",
    ),
    call(
        "a function that would give the answer",
        &["unserialisable"],
        "def gap(a, b): return lambda: abs(a - b)\n",
    ),
];

#[test]
fn no_answer_is_taken_at_its_word_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn no_answer_is_taken_at_its_word_at_landlock() {
    hold(Isolation::Landlock, CASES);
}

/// With `check(candidate)` the answers go into test code of another process; what is no plain data
/// does not get there.
#[test]
fn test_code_sees_plain_data_alone() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        stage.hold(CASES, &[Form::Script]);
        stage.end();
    }
}
