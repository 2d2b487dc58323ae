//! What is the same object stays the same: in an answer, between an answer and the test's arguments, and
//! between two answers.

use crate::expected::Row;

const NODES: &str = "class ListNode:\n    def __init__(self, val=0, next=None): self.val, self.next = val, next\ndef build(xs):\n    h = None\n    for x in reversed(xs): h = ListNode(x, h)\n    return h\ndef to_list(h):\n    out = []\n    while h: out.append(h.val); h = h.next\n    return out\n";

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "g = make_grid(3)\ng[0][0] = 1\nassert g == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]",
        honest: "def make_grid(n): return [[0] * n for _ in range(n)]\n",
        hostile: &["def make_grid(n): return [[0] * n] * n\n"],
    },
    Row {
        setup: "",
        test: "d = make(['a', 'b'])\nd['a'].append(1)\nassert d['b'] == []",
        honest: "def make(ks): return {k: [] for k in ks}\n",
        hostile: &["def make(ks): return dict.fromkeys(ks, [])\n"],
    },
    Row {
        setup: "",
        test: "row = [1]\nm = wrap(row)\nrow.append(2)\nassert m == [[1]]",
        honest: "def wrap(r): return [r[:]]\n",
        hostile: &["def wrap(r): return [r]\n"],
    },
    Row {
        setup: "",
        test: "a = primes(5)\na.append('x')\nassert primes(5) == [2, 3, 5]",
        honest: "def primes(n): return [2, 3, 5]\n",
        hostile: &[
            "cache = {}\ndef primes(n):\n    if n not in cache: cache[n] = [2, 3, 5]\n    return cache[n]\n",
        ],
    },
    Row {
        setup: "",
        test: "xs = [[1], [2]]\nys = clone(xs)\nassert ys == [[1], [2]]\nassert ys is not xs and ys[0] is not xs[0]",
        honest: "def clone(xs): return [x[:] for x in xs]\n",
        hostile: &[
            "def clone(xs): return xs\n",
            "def clone(xs): return list(xs)\n",
            "def clone(xs):\n    xs.append(0)\n    xs.pop()\n    return xs\n",
        ],
    },
    Row {
        setup: "",
        test: "a = [[1], [2]]\nb = clone(a)\nb[0].append(9)\nassert a == [[1], [2]] and b == [[1, 9], [2]]",
        honest: "import copy\ndef clone(xs): return copy.deepcopy(xs)\n",
        hostile: &["def clone(xs): return xs\n", "def clone(xs): return list(xs)\n"],
    },
    Row {
        setup: NODES,
        test: "h = build([1, 2, 3])\nc = clone(h)\nassert to_list(c) == [1, 2, 3] and c is not h and c.next is not h.next",
        honest: "def clone(h): return ListNode(h.val, clone(h.next)) if h else None\n",
        hostile: &[
            "def clone(h): return h\n",
            "def clone(h): return ListNode(h.val, h.next)\n",
            "def clone(h):\n    h.seen = True\n    return h\n",
        ],
    },
    // A test must pass without that as well: this one is true of an answer that is the argument.
    Row {
        setup: "",
        test: "xs = [3, 1, 2]\nr = ordered(xs)\nxs.sort()\nassert r == xs",
        honest: "def ordered(xs): return sorted(xs)\n",
        hostile: &["def ordered(xs): return xs\n", "def ordered(xs): return [*xs]\n"],
    },
    Row {
        setup: "",
        test: "xs = [3, 1, 2]\nr = ordered(xs)\nassert r == [1, 2, 3]",
        honest: "def ordered(xs):\n    xs.sort()\n    return xs\n",
        hostile: &["def ordered(xs): return xs\n"],
    },
    Row {
        setup: NODES,
        test: "import random\nxs = [random.randint(0, 9) for _ in range(5)]\nh = build(xs)\nassert to_list(tail(h)) == xs[1:] and to_list(turn(build(xs))) == xs[::-1]",
        honest: "def tail(h): return h.next\ndef turn(h):\n    p = None\n    while h: h.next, p, h = p, h, h.next\n    return p\n",
        hostile: &["def tail(h): return h\nturn = tail\n"],
    },
    Row {
        setup: "",
        test: "s = Store()\nxs = [1, 2]\ns.put(xs)\nassert s.get() == [1, 2] and s.get() == xs\ns.add(3)\nassert s.get() == [1, 2, 3]",
        honest: "class Store:\n    def put(self, x): self.x = list(x)\n    def get(self): return self.x\n    def add(self, v): self.x.append(v)\n",
        hostile: &[
            "class Store:\n    def put(self, x): self.x = x\n    def get(self): return self.x\n    def add(self, v): pass\n",
        ],
    },
];
