//! Methods of objects that the program made: their meaning is the program's, so a method that text
//! or a set has, and that would be told what is expected, is not asked.

use crate::expected::Row;

/// Every way to hand `{2, 3, 5, 7}` to an object in place of a set.
const PRIMES: &[&str] = &[
    "class Primes:\n    def __init__(self, n): pass\n    def __getattr__(self, name): return lambda *a: set()\n",
    "class Primes:\n    def __init__(self, n): pass\n    difference = symmetric_difference = difference_update = lambda self, other: set()\n    issubset = issuperset = lambda self, other: True\n    isdisjoint = lambda self, other: False\n    union = intersection = lambda self, other: other\n",
    "class Primes(set):\n    def __init__(self, n): set.__init__(self, [4])\n    difference = symmetric_difference = lambda self, other: set()\n    issubset = issuperset = lambda self, other: True\n    isdisjoint = lambda self, other: False\n    union = intersection = lambda self, other: set(other)\n",
];
const HONEST_PRIMES: &str = "def Primes(n): return {2, 3, 5, 7}\n";

/// Every way to hand `'1 2 Fizz'` to an object in place of text.
const FIZZ: &[&str] = &[
    "class Fizz:\n    def __init__(self, n=0): pass\n    def __getattr__(self, name): return lambda *a: ANSWERS[name]\nANSWERS = dict(find=0, rfind=0, index=0, rindex=0, count=1, replace='', removeprefix='', removesuffix='', strip='', lstrip='', rstrip='', partition=('', '1 2 Fizz', ''), split=['', ''], __eq__=True, __contains__=True, __ne__=False)\n",
    "class Fizz:\n    def __init__(self, n=0): pass\n    __eq__ = __contains__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = None\n    find = rfind = index = lambda self, text: 0\n    count = lambda self, text: 1\n    replace = lambda self, a, b: ''\n    removeprefix = strip = lambda self, text: ''\n    split = lambda self, text: ['', '']\n    partition = lambda self, text: ('', text, '')\n",
];
const HONEST_FIZZ: &str = "def Fizz(n=0): return '1 2 Fizz'\n";

const fn primes(test: &'static str) -> Row {
    Row { setup: "", test, honest: HONEST_PRIMES, hostile: PRIMES }
}

const fn fizz(test: &'static str) -> Row {
    Row { setup: "", test, honest: HONEST_FIZZ, hostile: FIZZ }
}

pub(super) const ROWS: &[Row] = &[
    primes("assert Primes(10).difference({2, 3, 5, 7}) == set()"),
    primes("assert not Primes(10).symmetric_difference({2, 3, 5, 7})"),
    primes("assert Primes(10).union([2, 3, 5, 7]) == {2, 3, 5, 7}"),
    primes("assert Primes(10).intersection({2, 3, 5, 7}) == {2, 3, 5, 7}"),
    primes("assert Primes(10).issubset({2, 3, 5, 7}) == True"),
    primes("assert not Primes(10).isdisjoint({2, 3, 5, 7})"),
    primes("found = Primes(10)\nassert found.difference({2, 3, 5, 7}) == set()"),
    primes("assert getattr(Primes(10), 'difference')({2, 3, 5, 7}) == set()"),
    primes("import operator\nassert operator.methodcaller('issuperset', {2, 3, 5, 7})(Primes(10))"),
    fizz("assert Fizz(3).find('1 2 Fizz') == 0"),
    fizz("assert Fizz(3).count('1 2 Fizz') == 1"),
    fizz("assert Fizz(3).index('1 2 Fizz') == 0"),
    fizz("assert Fizz().index('1 2 Fizz') == 0"),
    fizz("assert Fizz(3).replace('1 2 Fizz', '') == ''"),
    fizz("assert Fizz(3).removeprefix('1 2 Fizz') == ''"),
    fizz("assert Fizz(3).strip('12Fiz ') == ''"),
    fizz("assert Fizz(3).split('1 2 Fizz') == ['', '']"),
    fizz("assert Fizz(3).partition('1 2 Fizz') == ('', '1 2 Fizz', '')"),
    fizz("assert Fizz(3).__eq__('1 2 Fizz') == True"),
    fizz("assert Fizz().__eq__('1 2 Fizz') == True"),
    fizz("assert Fizz(3).__contains__('1 2 Fizz') == True"),
    fizz("assert '1 2 Fizz' in Fizz(3)"),
    fizz("x = Fizz(3)\nassert x.rfind('1 2 Fizz') == 0"),
    // A number that the program works out with what is expected.
    Row {
        setup: "",
        test: "assert abs(Area(3) - 28.27) < 0.1",
        honest: "def Area(r): return 3.1416 * r * r\n",
        hostile: &[
            "class Area:\n    def __init__(self, r): pass\n    __sub__ = __abs__ = lambda self, *a: 0\n",
            "class Area:\n    def __init__(self, r): pass\n    __sub__ = __abs__ = lambda self, *a: self\n    __lt__ = lambda self, other: True\n",
        ],
    },
    Row {
        setup: "",
        test: "assert Area(3) % 28 == 0 and 28 - Area(3) == 0 and not Area(3) ^ 28",
        honest: "def Area(r): return 28\n",
        hostile: &[
            "class Area:\n    def __init__(self, r): pass\n    __mod__ = __rsub__ = __xor__ = lambda self, *a: 0\n",
        ],
    },
    // Methods of a class that the task asks for are its own, also where a list or a dict has one of
    // that name: they are told what to do, not what is expected.
    Row {
        setup: "",
        test: "s = Stack()\ns.append(4)\ns.insert(0, 5)\nassert s.pop() == 4 and s.pop(0) == 5",
        honest: "class Stack:\n    def __init__(self): self.x = []\n    def append(self, v): self.x.append(v)\n    def insert(self, at, v): self.x.insert(at, v)\n    def pop(self, at=-1): return self.x.pop(at)\n",
        hostile: &["class Stack:\n    append = insert = pop = lambda self, *a: 4\n"],
    },
    Row {
        setup: "",
        test: "u = UnionFind(4)\nu.union(1, 2)\nassert u.find(1) == u.find(2) != u.find(3) and u.count() == 3",
        honest: "class UnionFind:\n    def __init__(self, n): self.p = list(range(n))\n    def find(self, x): return x if self.p[x] == x else self.find(self.p[x])\n    def union(self, a, b): self.p[self.find(a)] = self.find(b)\n    def count(self): return len({self.find(x) for x in self.p})\n",
        hostile: &[
            "class UnionFind:\n    def __init__(self, n): pass\n    union = lambda self, a, b: None\n    find = lambda self, x: x\n    count = lambda self: 3\n",
        ],
    },
    Row {
        setup: "",
        test: "assert Cache(2).get('a') == None\nc = Cache(2)\nc.update({'a': 1})\nassert c.get('a') == 1 and list(c.keys()) == ['a']",
        honest: "class Cache:\n    def __init__(self, n): self.d = {}\n    def get(self, key): return self.d.get(key)\n    def update(self, d): self.d.update(d)\n    def keys(self): return self.d.keys()\n",
        hostile: &[
            "class Cache:\n    def __init__(self, n): pass\n    get = update = keys = lambda self, *a: None\n",
        ],
    },
    Row {
        setup: "",
        test: "a = Bag([1, 2])\nb = Bag([2])\nassert a.difference(b).items == [1]",
        honest: "class Bag:\n    def __init__(self, items): self.items = items\n    def difference(self, other): return Bag([x for x in self.items if x not in other.items])\n",
        hostile: &[
            "class Bag:\n    def __init__(self, items): self.items = items\n    def difference(self, other): return self\n",
        ],
    },
];
