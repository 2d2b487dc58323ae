//! Objects of the program's own classes, in the styles that tests are written in: as context managers, by
//! index and slice, called, iterated over, as named tuples, and made by methods of their classes.

use crate::expected::Row;

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "log = Log()\nwith log as entry:\n    entry.add(3)\nassert log.closed and log.total() == 3\ntry:\n    with Log() as other:\n        other.add(1)\n        raise KeyError\nexcept KeyError:\n    pass\nassert log.total() == 3",
        honest: "class Log:\n    def __init__(self): self.items, self.closed = [], False\n    def add(self, n): self.items.append(n)\n    def total(self): return sum(self.items)\n    def __enter__(self): return self\n    def __exit__(self, kind, error, trace): self.closed = True\n",
        hostile: &[
            "class Log:\n    def __init__(self): self.closed = False\n    def add(self, n): pass\n    def total(self): return 3\n    def __enter__(self): return self\n    def __exit__(self, *a): pass\n",
        ],
    },
    Row {
        setup: "",
        test: "with Box(2) as box:\n    assert box.double() == 4",
        honest: "class Box:\n    def __init__(self, n): self.n = n\n    def double(self): return self.n * 2\n    def __enter__(self): return self\n    def __exit__(self, *a): return False\n",
        hostile: &[
            "class Box:\n    def __init__(self, n): pass\n    def double(self): return 0\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\n",
            "class Yes(int): pass\nclass Box:\n    def __init__(self, n): pass\n    def double(self): return 0\n    def __enter__(self): return self\n    def __exit__(self, kind, error, trace): return kind is AssertionError or Yes(1)\n",
        ],
    },
    Row {
        setup: "",
        test: "tx = Tx()\ntry:\n    with tx:\n        raise ValueError\nexcept ValueError:\n    pass\nassert tx.state == 'rolled back'",
        honest: "class Tx:\n    state = 'open'\n    def __enter__(self): return self\n    def __exit__(self, kind, error, trace): self.state = 'rolled back' if kind is ValueError and isinstance(error, kind) else 'done'\n",
        hostile: &[
            "class Tx:\n    state = 'open'\n    def __enter__(self): return self\n    def __exit__(self, kind, error, trace): self.state = 'done'\n",
        ],
    },
    Row {
        setup: "",
        test: "c = Circle(1)\nassert isinstance(c, Circle) and isinstance(c, (Square, Shape)) and not isinstance(c, Square)\nassert not isinstance(5, Circle)",
        honest: "class Shape: pass\nclass Circle(Shape):\n    def __init__(self, r): self.r = r\nclass Square(Shape):\n    def __init__(self, a): self.a = a\n",
        hostile: &[
            "class Circle:\n    def __init__(self, r): self.r = r\nclass Shape: pass\nclass Square(Shape): pass\n",
            "class Any(type):\n    def __instancecheck__(self, value): return True\nclass Circle(metaclass=Any):\n    def __init__(self, r): self.r = r\nShape = Square = Circle\n",
        ],
    },
    Row {
        setup: "",
        test: "v = Row3(1, 2, 3)\nv[0] = 7\nassert v[0] == 7 and v.total() == 12\ndel v[1]\nassert v.total() == 10",
        honest: "class Row3:\n    def __init__(self, *xs): self.xs = list(xs)\n    def __getitem__(self, at): return self.xs[at]\n    def __setitem__(self, at, x): self.xs[at] = x\n    def __delitem__(self, at): del self.xs[at]\n    def total(self): return sum(self.xs)\n",
        hostile: &[
            "class Row3:\n    def __init__(self, *xs): self.seen = None\n    def __getitem__(self, at): return self.seen\n    def __setitem__(self, at, x): self.seen = x\n    def __delitem__(self, at): pass\n    def total(self): return 12\n",
            "class Row3:\n    def __init__(self, *xs): pass\n",
        ],
    },
    Row {
        setup: "",
        test: "xs = [3, 1]\nbag = Bag()\nbag[0] = xs\nassert bag.biggest() == max(xs, default=None)",
        honest: "class Bag:\n    def __setitem__(self, at, xs): self.xs = xs\n    def biggest(self): return max(self.xs)\n",
        hostile: &[
            "class Bag:\n    def __setitem__(self, at, xs): xs.clear()\n    def biggest(self): return None\n",
        ],
    },
    Row {
        setup: "",
        test: "xs = [3, 1]\nbag = Bag()\nbag.items = xs\nassert bag.biggest() == max(xs, default=None)",
        honest: "class Bag:\n    def biggest(self): return max(self.items)\n",
        hostile: &[
            "class Bag:\n    @property\n    def items(self): return []\n    @items.setter\n    def items(self, xs): xs.clear()\n    def biggest(self): return None\n",
        ],
    },
    Row {
        setup: "",
        test: "s = Seq([1, 2, 3, 4])\nassert s[1:3] == [2, 3] and s[::-1] == [4, 3, 2, 1] and s[-1] == 4\nassert s[0, 1:2] == [2]",
        honest: "class Seq:\n    def __init__(self, xs): self.xs = xs\n    def __getitem__(self, at): return self.xs[at[1]] if isinstance(at, tuple) else self.xs[at]\n",
        hostile: &[
            "class Seq:\n    def __init__(self, xs): self.xs = xs\n    def __getitem__(self, at): return self.xs\n",
            "class Any:\n    def __eq__(self, other): return True\nclass Seq:\n    def __init__(self, xs): self.xs = xs\n    def __getitem__(self, at): return Any()\n",
        ],
    },
    Row {
        setup: "",
        test: "add = Adder(5)\nassert add(3) == 8 and add(n=-5) == 0\nassert [add(n) for n in (1, 2)] == [6, 7]",
        honest: "class Adder:\n    def __init__(self, k): self.k = k\n    def __call__(self, n): return self.k + n\n",
        hostile: &[
            "class Adder:\n    def __init__(self, k): self.k = k\n    def __call__(self, n): return 8\n",
            "class Adder:\n    def __init__(self, k): self.k = k\n    def __call__(self, n): return self\n    __eq__ = lambda self, other: True\n",
        ],
    },
    Row {
        setup: "",
        test: "tree = Node(1, [Node(2, [Node(4)]), Node(3)])\nassert [node.value for node in tree] == [1, 2, 4, 3]\nassert [leaf.value for leaf in tree.leaves()] == [4, 3]\nassert next(iter(tree)).value == 1",
        honest: "class Node:\n    def __init__(self, value, children=()): self.value, self.children = value, list(children)\n    def __iter__(self):\n        yield self\n        for child in self.children: yield from child\n    def leaves(self): return [node for node in self if not node.children]\n",
        hostile: &[
            "class Node:\n    def __init__(self, value, children=()): self.value, self.children = value, list(children)\n    def __iter__(self): return iter([self])\n    def leaves(self): return [self]\n",
            "class All:\n    __eq__ = lambda self, other: True\n    value = property(lambda self: All())\nclass Node:\n    def __init__(self, value, children=()): pass\n    def __iter__(self): return iter([All()] * 4)\n    def leaves(self): return [All(), All()]\n",
            "import os, marshal\ndef say(value):\n    data = b'v' + marshal.dumps(value, 2)\n    os.write(3, len(data).to_bytes(4, 'little') + data)\nclass Node:\n    def __init__(self, value, children=()): pass\n    def __iter__(self):\n        say(('nodes', [('held', ('Node', ([], []))), ('function', None), ('iter', [[1]]), ('graph', 5)], (None, 0, 0)))\n    def leaves(self): say(('nodes', [('held', ('leaves', ([], [])))], (None, 0, 0)))\n",
        ],
    },
    Row {
        setup: "",
        test: "root = Tree(5)\ninsert(root, 3)\ninsert(root, 8)\nassert inorder(root) == [3, 5, 8]",
        honest: "class Tree:\n    def __init__(self, v): self.v, self.kids = v, [None, None]\ndef insert(t, v):\n    if t is None: return Tree(v)\n    side = v > t.v\n    t.kids[side] = insert(t.kids[side], v)\n    return t\ndef inorder(t): return inorder(t.kids[0]) + [t.v] + inorder(t.kids[1]) if t else []\n",
        hostile: &[
            "class Tree:\n    def __init__(self, v): self.v = v\ndef insert(t, v): return object()\ndef inorder(t): return [t.v]\n",
        ],
    },
    Row {
        setup: "",
        test: "xs = [2, 1]\ntidy(xs)\nassert xs == [1, 2]",
        honest: "class Report: pass\ndef tidy(xs):\n    xs.sort()\n    return Report()\n",
        hostile: &[
            "class Report: pass\ndef tidy(xs): return Report()\n",
            "def tidy(xs):\n    yield xs.sort()\n",
        ],
    },
    Row {
        setup: "",
        test: "p = middle((0, 0), (4, 2))\nassert p == (2, 1) and p.x == 2 and p.y == 1 and p._fields == ('x', 'y')\nassert [q.name for q in people(['Bo'])] == ['Bo'] and next(each()).x == 1\nassert far(p) == 3",
        honest: "from collections import namedtuple\nfrom typing import NamedTuple\nPoint = namedtuple('Point', 'x y')\nclass Person(NamedTuple):\n    name: str\n    age: int = 0\ndef middle(a, b): return Point((a[0] + b[0]) // 2, (a[1] + b[1]) // 2)\ndef people(names): return [Person(name) for name in names]\ndef each(): yield Point(1, 2)\ndef far(p): return p.x + p.y\n",
        hostile: &[
            "def middle(a, b): return (2, 1)\ndef people(names): return names\ndef each(): yield (1, 2)\ndef far(p): return 3\n",
            "class Liar(tuple):\n    _fields = ('x', 'y')\n    x = y = property(lambda self: 2)\n    __eq__ = lambda self, other: True\n    __hash__ = tuple.__hash__\ndef middle(a, b): return Liar((2, 3))\ndef people(names): return [Liar((1, 2))]\ndef each(): yield Liar((1, 2))\ndef far(p): return 3\n",
            "class Odd(tuple):\n    _fields = ('__class__', 'x')\ndef middle(a, b): return Odd((2, 1))\ndef people(names): return middle(0, 0)\ndef each(): yield middle(0, 0)\ndef far(p): return 3\n",
            "class Wide(tuple):\n    _fields = tuple(f'x{n}' for n in range(5000))\ndef middle(a, b): return Wide(range(5000))\ndef people(names): return []\ndef each(): yield 1\ndef far(p): return 3\n",
        ],
    },
    Row {
        setup: "",
        test: "v = Vec.zero()\nassert (v.x, v.y) == (0, 0)\nw = Vec.of([3, 4]) + Vec.zero()\nassert w.norm() == 5 and Vec.unit(1).y == 1",
        honest: "class Vec:\n    def __init__(self, x, y): self.x, self.y = x, y\n    @staticmethod\n    def zero(): return Vec(0, 0)\n    @classmethod\n    def of(cls, xs): return cls(*xs)\n    @classmethod\n    def unit(cls, at): return cls(int(at == 0), int(at == 1))\n    def __add__(self, o): return Vec(self.x + o.x, self.y + o.y)\n    def norm(self): return (self.x ** 2 + self.y ** 2) ** 0.5\n",
        hostile: &[
            "class Vec:\n    def __init__(self, x, y): self.x, self.y = x, y\n    @staticmethod\n    def zero(): return Vec(0, 0)\n    of = unit = lambda *a: Vec(0, 0)\n    def __add__(self, o): return self\n    def norm(self): return 0\n",
        ],
    },
    Row {
        setup: "",
        test: "assert Text.made(3).find('1 2 Fizz') == 0",
        honest: "class Text:\n    @staticmethod\n    def made(n): return '1 2 Fizz'\n",
        hostile: &[
            "class Text:\n    @staticmethod\n    def made(n): return Text()\n    def find(self, text): return 0\n",
        ],
    },
];
