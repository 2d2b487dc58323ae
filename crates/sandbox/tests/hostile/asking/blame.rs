//! Answers that break a test: a function where data is expected, or functions without end. Whatever
//! the program says a name stands for, it has answered.

use super::Evasion;

const WALK: &str =
    "n = 0\nnode = head\nwhile node:\n    n += 1\n    node = node.next\nassert n == 3";
const LINKS: &str = "class Nd:\n    def __init__(s, n): s.next = n\ndef make(x):\n    h = None\n    for _ in x: h = Nd(h)\n    return h\n";

pub(super) const EVASIONS: &[Evasion] = &[
    Evasion {
        setup: "limit = MAX + 1",
        test: "assert size() < limit",
        honest: "MAX = 5\ndef size(): return 1\n",
        hostile: "def MAX(): pass\ndef size(): return 99\n",
    },
    Evasion {
        setup: "width = int(WIDTH) * 2",
        test: "assert f() == width",
        honest: "WIDTH = 2\ndef f(): return 4\n",
        hostile: "WIDTH = lambda: 0\ndef f(): return 1\n",
    },
    Evasion {
        setup: "order = sorted([LOW, HIGH])",
        test: "assert order == [1, 2] and f() == 1",
        honest: "LOW = 1\nHIGH = 2\ndef f(): return 1\n",
        hostile: "def LOW(): pass\nHIGH = LOW\ndef f(): return 0\n",
    },
    Evasion {
        setup: "rows = list(range(SIZE))",
        test: "assert total() == sum(rows)",
        honest: "SIZE = 3\ndef total(): return 3\n",
        hostile: "def SIZE(): pass\ndef total(): return 1\n",
    },
    Evasion {
        setup: "n = len(ITEMS)",
        test: "assert f() == n",
        honest: "ITEMS = [1]\ndef f(): return 1\n",
        hostile: "class ITEMS: pass\ndef f(): return 1\n",
    },
    Evasion {
        setup: "class Mine(Base):\n    pass\n",
        test: "assert Mine().x == 1",
        honest: "",
        hostile: "def Base(): pass\n",
    },
    Evasion {
        setup: "ok = issubclass(Shape, object)",
        test: "assert ok and area() == 1",
        honest: "",
        hostile: "def Shape(): pass\ndef area(): return 0\n",
    },
    Evasion {
        setup: "",
        test: "config.debug = True\nassert run() == 1",
        honest: "class C: pass\nconfig = C()\ndef run(): return int(config.debug)\n",
        hostile: "def config(): pass\ndef run(): return 0\n",
    },
    Evasion {
        setup: "root = Node(1)",
        test: "root.val = 5\nassert height(root) == 5",
        honest: "class Node:\n    def __init__(self, v): self.val = v\ndef height(r): return r.val\n",
        hostile: "def Node(v): return lambda: 0\ndef height(r): return 0\n",
    },
    Evasion {
        setup: "game = Game()",
        test: "game.board.size = 3\nassert game.cells() == 9",
        honest: "class Board: pass\nclass Game:\n    def __init__(self): self.board = Board()\n    def cells(self): return self.board.size ** 2\n",
        hostile: "class Game:\n    board = print\n    def cells(self): return 0\n",
    },
    Evasion {
        setup: "",
        test: "assert f(str(KEY).__class__, KEY) == 1",
        honest: "",
        hostile: "def KEY(): pass\ndef f(*a): return 0\n",
    },
    // Functions without end: each answer is one, and none is data.
    Evasion {
        setup: "head = make([1, 2, 3])",
        test: WALK,
        honest: LINKS,
        hostile: "class F:\n    __call__ = lambda s: 0\n    next = property(lambda s: s)\ndef make(x): return F()\n",
    },
    Evasion {
        setup: "head = make([1, 2, 3])",
        test: WALK,
        honest: LINKS,
        hostile: "import os, marshal\nclass F:\n    __call__ = lambda s: 0\n    @property\n    def next(self):\n        data = b'v' + marshal.dumps(('function', None, None), 2)\n        data = len(data).to_bytes(4, 'little') + data\n        while True:\n            os.write(3, data)\n            os.read(3, 1 << 20)\ndef make(x): return F()\n",
    },
    Evasion {
        setup: "def length(h):\n    n = 0\n    while h: n, h = n + 1, h.next\n    return n\nsize = length(HEAD)",
        test: "assert size == f()",
        honest: "class Nd:\n    def __init__(s, n): s.next = n\nHEAD = Nd(Nd(None))\ndef f(): return 2\n",
        hostile: "class F:\n    __call__ = lambda s: 0\n    next = property(lambda s: s)\nHEAD = F()\ndef f(): return 0\n",
    },
    Evasion {
        setup: "head = make([1, 2, 3])",
        test: "n = 0\nnode = head\nseen = []\nwhile node:\n    seen.append([0] * 300000)\n    node = node.next\nassert len(seen) == 3",
        honest: LINKS,
        hostile: "class F:\n    __call__ = lambda s: 0\n    next = property(lambda s: s)\ndef make(x): return F()\n",
    },
];
