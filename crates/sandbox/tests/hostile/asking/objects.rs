//! Honest programs: their objects have a length and a truth, their operators give objects, their
//! exceptions have a text, and what they return may hold dates and objects of their own.

use crate::expected::Row;

const NODES: &str = "class Node:\n    def __init__(self, val=0, next=None): self.val, self.next = val, next\ndef build(xs):\n    h = None\n    for x in reversed(xs): h = Node(x, h)\n    return h\ndef vals(h):\n    out = []\n    while h: out.append(h.val); h = h.next\n    return out\n";

const MESSAGE: &str =
    "try:\n    f(-1)\n    assert False\nexcept ValueError as e:\n    assert str(e) == 'negative'";

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "s = Stack()\nassert not s and len(s) == 0\ns.push(1)\nassert len(s) == 1 and s and s[0] == 1",
        honest: "class Stack:\n    def __init__(self): self.x = []\n    def push(self, v): self.x.append(v)\n    def __len__(self): return len(self.x)\n    def __getitem__(self, at): return self.x[at]\n",
        hostile: &[
            "class Stack:\n    def push(self, v): pass\n    def __len__(self): return 1\n",
            "class Stack:\n    def push(self, v): pass\n    __len__ = __bool__ = __getitem__ = lambda s, *a: object()\n",
        ],
    },
    Row {
        setup: "",
        test: "v = Vec(1, 2) + Vec(3, 4)\nassert (v.x, v.y) == (4, 6)\nw = v - Vec(1, 1)\nassert (w.x, str(w), Vec(1, 2) * Vec(3, 4), list(w)) == (3, '<3, 5>', 11, [3, 5])",
        honest: "class Vec:\n    def __init__(self, x, y): self.x, self.y = x, y\n    def __add__(self, o): return Vec(self.x + o.x, self.y + o.y)\n    def __sub__(self, o): return Vec(self.x - o.x, self.y - o.y)\n    def __mul__(self, o): return self.x * o.x + self.y * o.y\n    def __str__(self): return f'<{self.x}, {self.y}>'\n    def __iter__(self): yield from (self.x, self.y)\n",
        hostile: &[
            "class Vec:\n    def __init__(self, x, y): self.x, self.y = x, y\n    def __add__(self, o): return self\n    __sub__ = __mul__ = __add__\n",
            "class Vec:\n    def __init__(self, x, y): self.x, self.y = x, y\n    def __add__(self, o): return (4, 6)\n    __sub__ = __mul__ = __add__\n",
        ],
    },
    Row {
        setup: "head = make([1, 2, 3])",
        test: "n = 0\nnode = head\nwhile node:\n    n += node.val\n    node = node.next\nassert n == 6",
        honest: "class Nd:\n    def __init__(s, v, n): s.val, s.next = v, n\ndef make(x):\n    h = None\n    for v in x: h = Nd(v, h)\n    return h\n",
        hostile: &["class Nd:\n    val, next = 2, None\ndef make(x): return Nd()\n"],
    },
    // Exceptions.
    Row {
        setup: "",
        test: MESSAGE,
        honest: "def f(n): raise ValueError('negative')\n",
        hostile: &[
            "def f(n): raise ValueError('positive')\n",
            "def f(n): raise ValueError\n",
            "def f(n): raise KeyError('negative')\n",
            "class Any(str):\n    __eq__ = lambda s, o: True\ndef f(n): raise ValueError(Any('x'))\n",
            "class E(ValueError):\n    def __str__(self): return object()\ndef f(n): raise E('negative')\n",
        ],
    },
    Row {
        setup: "",
        test: MESSAGE,
        honest: "class Own(ValueError):\n    def __str__(self): return 'negative'\ndef f(n): raise Own(1)\n",
        hostile: &[
            "class Own(ValueError):\n    def __str__(self): return 'x' * 10 ** 7\ndef f(n): raise Own(1)\n",
        ],
    },
    Row {
        setup: "",
        test: "try:\n    f('k')\n    assert False\nexcept KeyError as e:\n    assert e.args == ('k', 2) and 'k' in str(e)",
        honest: "def f(n): raise KeyError('k', 2)\n",
        hostile: &["def f(n): raise KeyError('k')\n", "def f(n): raise KeyError(object())\n"],
    },
    Row {
        setup: "class Bad(Exception): pass\nclass Worse(Bad):\n    def __init__(self, code): super().__init__(f'code {code}'); self.code = code\n",
        test: "try:\n    f(-1)\n    ok = False\nexcept Worse as e:\n    ok = e.code == 7 and str(e) == 'code 7'\nassert ok",
        honest: "def f(n): raise Worse(7)\n",
        hostile: &[
            "def f(n): raise Bad('code 7')\n",
            "def f(n): raise Worse(8)\n",
            "class Worse(Exception): pass\ndef f(n): raise Worse('code 7')\n",
            "def f(n): raise ValueError\n",
        ],
    },
    Row {
        setup: "class Bad(Exception): pass\n",
        test: "try:\n    f(-1)\n    ok = False\nexcept Bad:\n    ok = True\nassert ok",
        honest: "class Mine(Bad): pass\ndef f(n): raise Mine('x')\n",
        hostile: &["def f(n): raise Exception('x')\n", "def f(n): return Bad('x')\n"],
    },
    // Values of the standard library.
    Row {
        setup: "import datetime\n",
        test: "assert f(2020) == datetime.date(2020, 1, 1)",
        honest: "import datetime\ndef f(y): return datetime.date(y, 1, 1)\n",
        hostile: &[
            "import datetime\ndef f(y): return datetime.date(y, 1, 2)\n",
            "import datetime\nclass D(datetime.date):\n    __eq__ = lambda s, o: True\ndef f(y): return D(1, 1, 1)\n",
            "def f(y): return '2020-01-01'\n",
        ],
    },
    Row {
        setup: "from datetime import datetime, timedelta, time, timezone\n",
        test: "a, b, c = f(datetime(2020, 1, 1, tzinfo=timezone.utc))\nassert a == datetime(2020, 1, 2, tzinfo=timezone.utc) and b == timedelta(days=1) and c == time(1, 2)",
        honest: "from datetime import *\ndef f(d): return [d + timedelta(days=1), timedelta(hours=24), time(1, 2)]\n",
        hostile: &["from datetime import *\ndef f(d): return [d, timedelta(1), time(1, 2)]\n"],
    },
    Row {
        setup: "from fractions import Fraction\nfrom decimal import Decimal\n",
        test: "assert f(3) == [Fraction(1, 3), Decimal('0.1')]",
        honest: "from fractions import Fraction\nfrom decimal import Decimal\ndef f(n): return [Fraction(1, n), Decimal('0.1')]\n",
        hostile: &["from fractions import Fraction\ndef f(n): return [Fraction(1, n), 0.1]\n"],
    },
    Row {
        setup: "",
        test: "assert list(f(3)) == [0, 1, 2]",
        honest: "from array import array\ndef f(n): return array('i', range(n))\n",
        hostile: &["from array import array\ndef f(n): return array('i', [2, 1, 0])\n"],
    },
    // Nodes of the setup that hold something of the program's own.
    Row {
        setup: NODES,
        test: "assert vals(mark(build([1, 2]))) == [1, 2]",
        honest: "class Mark: pass\ndef mark(h):\n    p = h\n    while p: p.seen = Mark(); p = p.next\n    return h\n",
        hostile: &[
            "class Mark:\n    __eq__ = lambda s, o: True\ndef mark(h):\n    h.val = Mark()\n    return h\n",
            "class Mark:\n    __bool__ = lambda s: False\ndef mark(h):\n    h.next = Mark()\n    return h\n",
        ],
    },
    Row {
        setup: NODES,
        test: "assert [vals(h) for _, h in parts(build([1, 2]))] == [[1, 2]]",
        honest: "from collections import namedtuple\nPart = namedtuple('Part', 'name head')\ndef parts(h): return [Part('a', h)]\n",
        hostile: &[
            "from collections import namedtuple\nPart = namedtuple('Part', 'name head')\ndef parts(h): return [Part('a', h.next)]\n",
        ],
    },
];
