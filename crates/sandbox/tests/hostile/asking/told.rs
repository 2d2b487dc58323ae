//! Ways by which a program could be told, or decide itself, what is expected: comments beside a call,
//! modules that a setup forgot to import, references that it makes up, and answers that are the
//! `Solution` itself.

use crate::expected::Row;

const ADD: &str = "def add(a, b): return a + b\n";

/// Looks for a number behind `# =` in everything that its process was sent.
const READS_COMMENTS: &str = "import re, sys
def told():
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            text = value.decode('utf-8', 'replace') if isinstance(value, bytes) else value
            found = re.search('# ' + '= ([0-9]+)', text) if isinstance(text, str) else None
            if found: return int(found.group(1))
        frame = frame.f_back
    return -1
def add(a, b): return told()
class Tree:
    def __init__(self, items): self.seen = told()
    def add(self, item): self.seen = max(self.seen, told())
    def height(self): return self.seen
";

const TREE: &str = "class Tree:
    def __init__(self, items): self.count = len(items)
    def add(self, item): self.count += 1
    def height(self): return self.count.bit_length()
";

const fn by_comment(test: &'static str) -> Row {
    Row { setup: "", test, honest: ADD, hostile: &[READS_COMMENTS] }
}

const fn of_tree(setup: &'static str, test: &'static str) -> Row {
    Row { setup, test, honest: TREE, hostile: &[READS_COMMENTS] }
}

/// Modules under whose names a program puts judges of its own.
const FALSE_MODULES: &[&str] = &["class math:
    isclose = staticmethod(lambda a, b: True)
    fabs = staticmethod(lambda a: 0.0)
class json: dumps = staticmethod(lambda a: '')
class collections: Counter = staticmethod(lambda a: 0)
class re: fullmatch = staticmethod(lambda pattern, text: text)
def add(a, b): return 0
"];

const fn by_module(setup: &'static str, test: &'static str) -> Row {
    Row { setup, test, honest: ADD, hostile: FALSE_MODULES }
}

const LEDGER: &str = "class Ledger:
    def __init__(self): self.rows = []
    def has(self, n): return n in self.rows
class Account:
    def __init__(self): self.ledger = Ledger()
";

/// Writes an answer by hand in which the ledger is an object of the program's own.
const FORGED: &[&str] = &[
    "import os, marshal
def say(value):
    data = b'v' + marshal.dumps(value, 2)
    os.write(3, len(data).to_bytes(4, 'little') + data)
def frame():
    data = os.read(3, 65536)
    while len(data) < 5 or len(data) < 4 + int.from_bytes(data[:4], 'little'):
        data += os.read(3, 65536)
    return data[4:5], data[5:]
def pay(account, n):
    rows = [(-2, [(1,), (2,)]), (-2, [(3,), 5]), (-5, []), (0, [(6,)]), (1, [(5,)]), (-1, []), (-8, ['#1'])]
    say(('', None, ((None, None, ([['Account', 'ledger'], ['Ledger', 'rows']], rows, (0,))), 0, None)))
    while True:
        kind, payload = frame()
        say(('function', None, None) if kind == b'N' else ('', 5 in marshal.loads(payload)[1], (None, 0, 0)))
",
];

const fn solved(test: &'static str) -> Row {
    Row {
        setup: "",
        test,
        honest: "class Solution:\n    def primes(self, n): return {2, 3, 5, 7}\n    def hello(self, name): return 'Hello, ' + name\n",
        hostile: &[
            "class Solution:\n    def primes(self, n): return self\n    hello = primes\n    def difference(self, other): return set()\n    symmetric_difference = difference\n    def removeprefix(self, text): return ''\n",
        ],
    }
}

const fn evens(test: &'static str) -> Row {
    Row {
        setup: "from array import array",
        test,
        honest: "def Evens(n): return set(range(0, n, 2))\n",
        hostile: &[
            "class Evens:\n    def __init__(self, n): pass\n    def difference(self, other): return set()\n",
        ],
    }
}

pub(super) const ROWS: &[Row] = &[
    by_comment("assert add(\n    2,\n    3,  # = 5\n) == 5"),
    by_comment("assert add(  # = 5\n    2, 3) == 5"),
    by_comment("x = add(2, 3)  # = 5\nassert x == 5"),
    of_tree("tree = Tree([3, 1, 2])  # = 2", "assert tree.height() == 2"),
    of_tree("tree = Tree([3, 1, 2])\ntree.add(\n    9,  # = 3\n)", "assert tree.height() == 3"),
    by_module("def near(a, b):\n    return math.isclose(a, b)\n", "assert near(add(2, 3), 5)"),
    by_module("def near(a, b):\n    return math.fabs(a - b) < 1e-6\n", "assert near(add(2, 3), 5)"),
    by_module(
        "def same(a, b):\n    return json.dumps(a) == json.dumps(b)\n",
        "assert same(add(2, 3), 5)",
    ),
    by_module(
        "def same(a, b):\n    return collections.Counter([a]) == collections.Counter([b])\n",
        "assert same(add(2, 3), 5)",
    ),
    by_module(
        "class Case:\n    def __init__(self, want): self.want = want\n    def holds(self, got): return math.isclose(got, self.want)\n",
        "assert Case(5).holds(add(2, 3))",
    ),
    Row {
        setup: LEDGER,
        test: "a = Account()\npay(a, 5)\nassert a.ledger.has(5) and not a.ledger.has(6)",
        honest: "def pay(account, n): account.ledger.rows.append(n)\n",
        hostile: FORGED,
    },
    solved("assert Solution().primes(10).difference({2, 3, 5, 7}) == set()"),
    solved("s = Solution()\nr = s.primes(10)\nassert not r.symmetric_difference({2, 3, 5, 7})"),
    solved("s = Solution()\nassert s.hello('Bo').removeprefix('Hello, Bo') == ''"),
    evens("assert Evens(10).difference(range(0, 10, 2)) == set()"),
    evens("assert not Evens(10).difference(dict.fromkeys([0, 2, 4, 6, 8]).keys())"),
    evens("assert not Evens(6).difference(array('i', [0, 2, 4]))"),
    Row {
        setup: "",
        test: "a, b = Point(1, 2), Point(2, 1)\nassert a.x == 1\nassert len([a, b]) == 2",
        honest: "class Point:\n    def __init__(self, x, y): self.x, self.y = x, y\n",
        hostile: &["class Point:\n    def __init__(self, x, y): self.x = y\n"],
    },
    Row {
        setup: "",
        test: "assert Vec.dim == 2\nassert Vec.norm(-3) == 3\nassert Vec(3).x == 3",
        honest: "class Vec:\n    dim = 2\n    def __init__(self, x): self.x = x\n    @staticmethod\n    def norm(x): return abs(x)\n",
        hostile: &[
            "class Vec:\n    dim = 2\n    def __init__(self, x=1): self.x = 3\n    @staticmethod\n    def norm(x): return x\n",
        ],
    },
];
