//! What a program does to its arguments is seen where a test wants it, and nowhere else; and no
//! function that only the program has is told an answer and asked whether it is right.

use super::Refused;
use crate::expected::Row;

const BIGGEST: &str = "def biggest(xs): return max(xs) if xs else None\n";
const EMPTIES: &[&str] =
    &["def biggest(xs):\n    xs.clear()\n", "def biggest(xs):\n    del xs[:]\n    return None\n"];
const SORTS: &str = "def order(xs): xs.sort()\n";

const fn compares(test: &'static str) -> Row {
    Row { setup: "", test, honest: BIGGEST, hostile: EMPTIES }
}

const fn works_in_place(test: &'static str) -> Row {
    Row {
        setup: "",
        test,
        honest: SORTS,
        hostile: &["def order(xs): pass\n", "def order(xs): return sorted(xs)\n"],
    }
}

pub(super) const ROWS: &[Row] = &[
    compares("for xs in ([3, 1, 2], [5]):\n    assert biggest(xs) == (max(xs) if xs else None)"),
    compares("xs = [3, 1]\nr = biggest(xs)\nassert r == (max(xs) if xs else None)"),
    compares(
        "xs = [3, 1]\nassert (biggest(xs), max(xs, default=None))[0] == max(xs, default=None)",
    ),
    compares("xs = [3, 1]\nassert not [x for x in [biggest(xs)] if x != max(xs, default=None)]"),
    compares("xs = [3, 1]\nif (r := biggest(xs)) != max(xs, default=None): raise AssertionError"),
    compares("xs = [3, 1]\nassert all(biggest(xs) == max(xs, default=None) for _ in range(2))"),
    Row {
        setup: "def right(xs):\n    found = biggest(xs)\n    return found == max(xs, default=None)\n",
        test: "assert right([3, 1, 2]) and right([5])",
        honest: BIGGEST,
        hostile: EMPTIES,
    },
    Row {
        setup: "class Box:\n    def __init__(self, items): self.items = items\n",
        test: "box = Box([3, 1])\nassert top(box) == max(box.items, default=None)",
        honest: "def top(box): return max(box.items)\n",
        hostile: &["def top(box): box.items.clear()\n", "def top(box): box.items = []\n"],
    },
    works_in_place("xs = [2, 1]\norder(xs)\nassert xs == [1, 2]"),
    works_in_place("xs = [2, 1]\nassert order(xs) is None\nassert xs == [1, 2]"),
    works_in_place("xs = [2, 1]\nassert order(xs) == None and xs == [1, 2]"),
    works_in_place("xs = [2, 1]\nr = order(xs)\nassert r is None\nassert xs == [1, 2]"),
    works_in_place("xs = [2, 1]\nr = order(xs)\nassert xs == [1, 2]"),
    works_in_place("xs = [2, 1]\n_ = order(xs)\nassert xs == [1, 2]"),
    works_in_place("fs = [order]\nxs = [2, 1]\nfs[0](xs)\nassert xs == [1, 2]"),
    works_in_place("for xs in ([2, 1], [1, 2]):\n    order(xs)\n    assert xs == [1, 2]"),
    Row {
        setup: "def ordered(xs):\n    order(xs)\n    return xs\n",
        test: "assert ordered([2, 1]) == [1, 2]",
        honest: SORTS,
        hostile: &["def order(xs): pass\n"],
    },
    // Several functions of the program, whose last answer is compared.
    Row {
        setup: "",
        test: "c = encode('ab', 1)\nd = decode(c, 1)\nassert d == 'ab' and c != 'ab'",
        honest: "def encode(s, n): return ''.join(chr(ord(c) + n) for c in s)\ndef decode(s, n): return encode(s, -n)\n",
        hostile: &[
            "def encode(s, n): return s[::-1]\ndef decode(s, n): return ''\n",
            "def encode(s, n): return s\ndef decode(s, n): return s\n",
        ],
    },
    Row {
        setup: "",
        test: "root = insert(None, 5)\nroot = insert(root, 3)\nassert height(root) == 2\nif height(root) > 2: raise ValueError",
        honest: "def insert(t, v):\n    if t is None: return [v, None, None]\n    t[1 if v < t[0] else 2] = insert(t[1 if v < t[0] else 2], v)\n    return t\ndef height(t): return 0 if t is None else 1 + max(height(t[1]), height(t[2]))\n",
        hostile: &["def insert(t, v): return v\ndef height(t): return 1\n"],
    },
];

pub(super) const JUDGES: &[Refused] = &[
    Refused { setup: "", test: "r = add(2, 3)\nassert is_close(r, 5)", name: "is_close" },
    Refused { setup: "", test: "r: int = add(2, 3)\nassert is_close(5, r)", name: "is_close" },
    Refused { setup: "", test: "r = s = add(2, 3)\nassert is_close(s, 5)", name: "is_close" },
    Refused { setup: "", test: "r, s = add(2, 3), 5\nassert is_close(r, s)", name: "is_close" },
    Refused { setup: "", test: "r = [add(2, 3)]\nassert is_close(r[0], 5)", name: "is_close" },
    Refused { setup: "", test: "r = add(2, 3) + 1\nassert is_close(r, 6)", name: "is_close" },
    Refused { setup: "", test: "assert is_close(add(2, 3) + 1, 6)", name: "is_close" },
    Refused { setup: "", test: "assert is_close([add(2, 3)], [5])", name: "is_close" },
    Refused { setup: "", test: "assert is_close((r := add(2, 3)), 5)", name: "is_close" },
    Refused {
        setup: "",
        test: "for r in [add(2, 3)]:\n    assert is_close(r, 5)",
        name: "is_close",
    },
    Refused { setup: "", test: "ok = is_close(add(2, 3), 5)\nassert ok", name: "is_close" },
    Refused {
        setup: "",
        test: "ok = is_close(add(2, 3), 5)\nyes = ok\nassert yes",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "assert all(is_close(add(x, y), e) for x, y, e in [(2, 3, 5)])",
        name: "is_close",
    },
    Refused { setup: "", test: "assert all([is_close(add(2, 3), 5)])", name: "is_close" },
    Refused { setup: "", test: "assert (is_close(add(2, 3), 5), 1)[0]", name: "is_close" },
    Refused {
        setup: "",
        test: "if not is_close(add(2, 3), 5): raise AssertionError",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "ok = True\nfor x in [2]:\n    ok = ok and is_close(add(x, 3), 5)\nassert ok",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "ok = 1\nok &= is_close(add(2, 3), 5)\nassert ok",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "while not is_close(add(2, 3), 5): raise AssertionError",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "assert True if is_close(add(2, 3), 5) else False",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "def same(a, b): return is_close(a, b)\nassert same(add(2, 3), 5)",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "def right():\n    return is_close(add(2, 3), 5)\nassert right()",
        name: "is_close",
    },
    Refused {
        setup: "def same(a, b): return is_close(a, b)\n",
        test: "assert same(add(2, 3), 5)",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "same = lambda a, b: is_close(a, b)\nassert same(add(2, 3), 5)",
        name: "is_close",
    },
    Refused { setup: "", test: "is_close(add(2, 3), 5)", name: "is_close" },
    Refused { setup: "", test: "r = add(2, 3)\nnear.check(r, 5)", name: "near" },
    Refused { setup: "", test: "assert near.by.much(add(2, 3), 5)", name: "near" },
    Refused { setup: "", test: "same = is_close\nassert same(add(2, 3), 5)", name: "is_close" },
    Refused { setup: "", test: "assert all(map(is_close, [add(2, 3)], [5]))", name: "is_close" },
    Refused {
        setup: "import functools",
        test: "is_5 = functools.partial(is_close, 5)\nassert is_5(add(2, 3))",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "match is_close(add(2, 3), 5):\n    case True: pass\n    case _: raise ValueError",
        name: "is_close",
    },
    Refused {
        setup: "",
        test: "class T:\n    def holds(self, got): return is_close(got, 5)\nassert T().holds(add(2, 3))",
        name: "is_close",
    },
    Refused {
        setup: "import unittest",
        test: "class T(unittest.TestCase):\n    def test(self): self.assertTrue(is_close(add(2, 3), 5))\nT('test').debug()",
        name: "is_close",
    },
    Refused { setup: "", test: "is_close(add(2, 3), 5)\nassert True", name: "is_close" },
    Refused {
        setup: "",
        test: "found = []\nfound.append(is_close(add(2, 3), 5))\nassert all(found)",
        name: "is_close",
    },
    Refused { setup: "", test: "assert is_close(add(2, 3))", name: "is_close" },
    Refused { setup: "", test: "xs = [2, 1]\nadd(xs, 1)\nassert is_close(xs)", name: "is_close" },
    Refused { setup: "r = add(2, 3)", test: "assert is_close(r, 5)", name: "is_close" },
    Refused {
        setup: "def must(r):\n    assert is_close(r, 5)\n",
        test: "must(add(2, 3))",
        name: "is_close",
    },
];
