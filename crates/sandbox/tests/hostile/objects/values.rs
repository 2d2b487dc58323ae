//! Values that are more than plain data: objects of a setup's classes that are derived from Python's types,
//! members of its enumerations, exceptions, and what `collections` has.

use crate::expected::Row;

const KINDS: &str = "from enum import Enum, IntEnum\nclass Id(int):\n    def tag(self): return 'id' + str(int(self))\nclass Name(str):\n    def first(self): return self[:1]\nclass Row(list):\n    def total(self): return sum(self)\nclass Table(dict):\n    def size(self): return len(self)\nclass Level(IntEnum):\n    LOW = 1\nclass Kind(str, Enum):\n    A = 'a'\nclass Bad(Exception):\n    def __init__(self, code): super().__init__('code ' + str(code)); self.code = code\n";

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: KINDS,
        test: "r = f(3)\nassert r == 3 and r.tag() == 'id3' and isinstance(r, Id)",
        honest: "def f(n): return Id(n)\n",
        hostile: &[
            "def f(n): return n\n",
            "class Id(int):\n    def __eq__(s, o): return True\n    def tag(s): return 'id3'\ndef f(n): return Id(4)\n",
        ],
    },
    Row {
        setup: KINDS,
        test: "r = f('ab')\nassert r.first() == 'a' and [r] == ['ab']",
        honest: "def f(n): return Name(n)\n",
        hostile: &[
            "def f(n): return n\n",
            "class Name(str):\n    def first(self): return 'a'\ndef f(n): return Name('x')\n",
        ],
    },
    Row {
        setup: KINDS,
        test: "r = f([1,2])\nassert r.total() == 3 and r == [1,2]",
        honest: "def f(n): return Row(n)\n",
        hostile: &[],
    },
    Row {
        setup: KINDS,
        test: "r = f()\nassert r.size() == 1 and r['a'] == [1] and type(r) is Table",
        honest: "def f(): return Table(a=[1])\n",
        hostile: &["def f(): return {'a': [1]}\n"],
    },
    Row {
        setup: KINDS,
        test: "r = f()\nassert r is Level.LOW and r.name == 'LOW'",
        honest: "def f(): return Level.LOW\n",
        hostile: &[],
    },
    Row {
        setup: KINDS,
        test: "r = f()\nassert r is Kind.A and r == 'a' and [r] == [Kind.A]",
        honest: "def f(): return Kind.A\n",
        hostile: &["def f(): return 'a'\n"],
    },
    Row {
        setup: KINDS,
        test: "assert f(Id(3), Kind.A, Row([1])) == ['id3', 'A', 1]",
        honest: "def f(a, b, c): return [a.tag(), b.name, c.total()]\n",
        hostile: &["def f(a, b, c): return [a, b, c]\n"],
    },
    Row {
        setup: KINDS,
        test: "r = f()\nassert isinstance(r, Bad) and r.code == 5 and str(r) == 'code 5'",
        honest: "def f(): return Bad(5)\n",
        hostile: &[
            "def f(): return Exception('code 5')\n",
            "class Bad(Exception):\n    code = 5\n    def __str__(self): return 'code 5'\ndef f(): return Bad()\n",
        ],
    },
    Row {
        setup: "",
        test: "r = f()\nassert isinstance(r[0], ValueError) and r[0].args == ('x', 1) and str(r[1]) == 'y'",
        honest: "def f(): return [ValueError('x', 1), KeyError and TypeError('y')]\n",
        hostile: &[
            "def f(): return [KeyError('x', 1), TypeError('y')]\n",
            "def f(): return [ValueError('x'), TypeError('y')]\n",
        ],
    },
    Row {
        setup: "",
        test: "from collections import Counter\nc = f('aab')\nassert c['z'] == 0 and c.most_common(1) == [('a', 2)] and isinstance(c, Counter) and c == {'a': 2, 'b': 1}",
        honest: "from collections import Counter\ndef f(s): return Counter(s)\n",
        hostile: &[
            "def f(s): return {'a': 2, 'b': 1}\n",
            "from collections import Counter\nclass Liar(Counter):\n    def most_common(self, n): return [('a', 2)]\ndef f(s): return Liar('ab')\n",
        ],
    },
    Row {
        setup: "",
        test: "d = f()\nassert d['z'] == [] and d['a'] == [1] and len(d) == 2",
        honest: "from collections import defaultdict\ndef f():\n    d = defaultdict(list)\n    d['a'].append(1)\n    return d\n",
        hostile: &["def f(): return {'a': [1]}\n"],
    },
    Row {
        setup: "",
        test: "d = f()\nd.move_to_end('a')\nassert list(d) == ['b', 'a']",
        honest: "from collections import OrderedDict\ndef f(): return OrderedDict(a=1, b=2)\n",
        hostile: &["from collections import OrderedDict\ndef f(): return OrderedDict(b=1, c=2)\n"],
    },
    Row {
        setup: "",
        test: "r = f()\nr.append(1)\nassert isinstance(r, bytearray) and r == b'x\\x01' and g(bytearray(b'a')) == 'bytearray'",
        honest: "def f(): return bytearray(b'x')\ndef g(x): return type(x).__name__\n",
        hostile: &["def f(): return b'x'\ndef g(x): return 'bytearray'\n"],
    },
    Row {
        setup: "",
        test: "assert f() == [b'x', {'a': bytearray(b'y')}]",
        honest: "def f(): return [bytearray(b'x'), {'a': b'y'}]\n",
        hostile: &["def f(): return [b'x', {'a': b'z'}]\n"],
    },
    Row {
        setup: "",
        test: "from collections import Counter\nassert f(Counter('aab')) == 'a'",
        honest: "def f(c): return c.most_common(1)[0][0]\n",
        hostile: &["def f(c): return 'b'\n"],
    },
    Row {
        setup: "",
        test: "assert f('aab') == {'a': 2, 'b': 1}",
        honest: "from collections import Counter\ndef f(s): return Counter(s)\n",
        hostile: &["from collections import Counter\ndef f(s): return Counter('ab')\n"],
    },
    Row {
        setup: KINDS,
        test: "r = f()\nassert r.total() == 1 and r.note == 'n'",
        honest: "def f():\n    r = Row([1])\n    r.note = 'n'\n    return r\n",
        hostile: &["def f(): return Row([1])\n"],
    },
];
