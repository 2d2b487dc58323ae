//! What stands for an object, a class or a function of the program answers nothing by itself: which
//! special methods there are, `vars`, `dir`, `__doc__`, `type(…)`, `del`, deriving and raising.

use crate::expected::Row;

const USER: &str = "class User:\n    def __init__(self, name, password): self.name, self.password = name, password\n";

pub(super) const ROWS: &[Row] = &[
    // Which special methods an object has.
    Row {
        setup: "",
        test: "add = Adder(5)\nassert callable(add) and not callable(Box(1)) and callable(Adder)",
        honest: "class Adder:\n    def __init__(self, k): self.k = k\n    def __call__(self, n): return self.k + n\nclass Box:\n    def __init__(self, n): pass\n",
        hostile: &[
            "class Adder:\n    def __init__(self, k): self.k = k\nclass Box(Adder): pass\n",
            "class Adder:\n    def __init__(self, k): self.k = k\n    def __call__(self, n): return self.k + n\nclass Box(Adder): pass\n",
        ],
    },
    Row {
        setup: "",
        test: "from collections.abc import Iterable, Sized, Callable, Hashable\nu = Bag([1])\nassert isinstance(u, Iterable) and isinstance(u, Sized) and not isinstance(u, Callable) and not isinstance(u, Hashable)\nassert issubclass(Bag, Iterable)",
        honest: "class Bag:\n    def __init__(self, xs): self.xs = xs\n    def __iter__(self): return iter(self.xs)\n    def __len__(self): return len(self.xs)\n    def __eq__(self, other): return self.xs == other.xs\n",
        hostile: &[
            "class Bag:\n    def __init__(self, xs): self.xs = xs\n    __hash__ = None\n",
            "class Bag:\n    def __init__(self, xs): self.xs = xs\n    def __iter__(self): return iter(self.xs)\n    def __len__(self): return len(self.xs)\n",
            "class Bag:\n    def __init__(self, xs): self.xs = xs\n    def __iter__(self): return iter(self.xs)\n    def __len__(self): return len(self.xs)\n    def __call__(self): pass\n    __hash__ = None\n",
        ],
    },
    Row {
        setup: "",
        test: "u = Bag()\nassert hasattr(u, '__len__') and hasattr(Bag, '__iter__') and not hasattr(u, '__add__') and not hasattr(Bag, '__getitem__')",
        honest: "class Bag:\n    def __len__(self): return 0\n    def __iter__(self): return iter(())\n",
        hostile: &[
            "class Bag: pass\n",
            "class Bag:\n    def __len__(self): return 0\n    def __iter__(self): return iter(())\n    def __add__(self, other): return self\n",
        ],
    },
    Row {
        setup: "",
        test: "u = User('bo', 'pw')\nassert User.__eq__ is not object.__eq__ and type(u).__repr__ is not object.__repr__ and User.__str__ is object.__str__",
        honest: "class User:\n    def __init__(self, name, password): self.name = name\n    def __eq__(self, other): return self.name == other.name\n    def __repr__(self): return 'User'\n",
        hostile: &[
            USER,
            "class User:\n    def __init__(self, name, password): self.name = name\n    def __eq__(self, other): return True\n    def __repr__(self): return ''\n    __str__ = __repr__\n",
        ],
    },
    // What an object holds.
    Row {
        setup: "",
        test: "u = User('bo', 'pw')\nassert 'password' not in vars(u) and u.name == 'bo'\nassert 'password' not in dir(u) and 'name' in dir(u)\nassert 'pw' not in u.__dict__.values() and vars(u)['name'] == 'bo'",
        honest: "class User:\n    def __init__(self, name, password): self.name = name\n",
        hostile: &[
            USER,
            "class User:\n    __slots__ = 'name',\n    def __init__(self, name, password): self.name = name\n",
        ],
    },
    Row {
        setup: "",
        test: "u = User('bo', 'pw')\nassert type(u) is User and type(u).__name__ == 'User' and u.__class__.__name__ == 'User' and u.__class__ is User\nassert User.__name__ == 'User' and User.__mro__[1] is object",
        honest: USER,
        hostile: &[
            "class Person:\n    def __init__(self, *a): pass\ndef User(*a): return Person()\n",
            "class Person:\n    def __init__(self, *a): pass\nUser = Person\n",
        ],
    },
    // Documentation and names.
    Row {
        setup: "",
        test: "import inspect\nassert add.__doc__ == 'Adds.' and inspect.getdoc(Sum) == 'A sum.' and Sum(1).__doc__ == 'A sum.'\nassert add.__name__ == 'add' and add(1, 2) == 3",
        honest: "def add(a, b):\n    'Adds.'\n    return a + b\nclass Sum:\n    'A sum.'\n    def __init__(self, n): pass\n",
        hostile: &[
            "def add(a, b): return a + b\nclass Sum:\n    def __init__(self, n): pass\n",
            "add = lambda a, b: a + b\nadd.__doc__ = 'Adds.'\nclass Sum:\n    'A sum.'\n    def __init__(self, n): pass\n",
        ],
    },
    // What must raise is asked.
    Row {
        setup: "",
        test: "p = P(1)\ntry:\n    del p.x\n    assert False, 'must be frozen'\nexcept AttributeError:\n    pass\nassert p.x == 1",
        honest: "class P:\n    def __init__(self, x): object.__setattr__(self, 'x', x)\n    def __delattr__(self, name): raise AttributeError(name)\n",
        hostile: &["class P:\n    def __init__(self, x): self.x = x\n"],
    },
    Row {
        setup: "",
        test: "p = P(1)\ndel p.x\nassert not hasattr(p, 'x')",
        honest: "class P:\n    def __init__(self, x): self.x = x\n",
        hostile: &[
            "class P:\n    x = 1\n    def __init__(self, x): pass\n    def __delattr__(self, name): pass\n",
        ],
    },
    Row {
        setup: "",
        test: "try:\n    P(1) ** P(2)\n    assert False\nexcept TypeError:\n    pass\ntry:\n    P(1) << P(2)\n    assert False\nexcept TypeError:\n    pass\nassert P(3).x == 3",
        honest: "class P:\n    def __init__(self, x): self.x = x\n",
        hostile: &[
            "class P:\n    def __init__(self, x): self.x = x\n    def __pow__(self, other): return 1\n    __lshift__ = __pow__\n",
        ],
    },
    Row {
        setup: "",
        test: "assert P(2) ** P(3) == 8\np = q = P(1)\np += P(2)\nassert p.x == 3 and p is q",
        honest: "class P:\n    def __init__(self, x): self.x = x\n    def __pow__(self, other): return self.x ** other.x\n    def __iadd__(self, other):\n        self.x += other.x\n        return self\n",
        hostile: &[
            "class P:\n    def __init__(self, x): self.x = x\n    def __pow__(self, other): return 8\n    def __add__(self, other): return P(3)\n",
        ],
    },
    Row {
        setup: "",
        test: "try:\n    next(P(3))\n    assert False\nexcept TypeError:\n    pass\nassert [x for x in P(2)] == [0, 1]",
        honest: "class P:\n    def __init__(self, n): self.n = n\n    def __iter__(self): return iter(range(self.n))\n",
        hostile: &[
            "class P:\n    def __init__(self, n): self.n = n\n    def __iter__(self): return iter(range(self.n))\n    def __next__(self): return 1\n",
        ],
    },
    Row {
        setup: "",
        test: "u = Up(3)\nassert next(u) == 1 and list(u) == [2, 3]\ntry:\n    next(u)\n    assert False\nexcept StopIteration:\n    pass\nassert iter(u) is u",
        honest: "class Up:\n    def __init__(self, n): self.n, self.i = n, 0\n    def __iter__(self): return self\n    def __next__(self):\n        if self.i >= self.n: raise StopIteration\n        self.i += 1\n        return self.i\n",
        hostile: &[
            "class Up:\n    def __init__(self, n): self.x = iter([1, 2, 3, 4])\n    def __iter__(self): return iter([2, 3])\n    def __next__(self): return next(self.x)\n",
        ],
    },
    // Classes and exceptions are classes and exceptions.
    Row {
        setup: "",
        test: "import inspect\nassert inspect.isclass(Circle) and issubclass(Circle, Shape) and not issubclass(Shape, Circle) and not issubclass(Circle, int)\nassert isinstance(Circle(1), Shape)\ntry:\n    Shape()\n    assert False\nexcept TypeError:\n    pass\nassert Circle(2).area() == 4",
        honest: "from abc import ABC, abstractmethod\nclass Shape(ABC):\n    @abstractmethod\n    def area(self): ...\nclass Circle(Shape):\n    def __init__(self, r): self.r = r\n    def area(self): return self.r ** 2\n",
        hostile: &[
            "class Shape:\n    def area(self): return 4\nclass Circle(Shape):\n    def __init__(self, r): pass\n",
            "class Shape:\n    def __init__(self): raise TypeError\nclass Circle:\n    def __init__(self, r): pass\n    def area(self): return 4\n",
        ],
    },
    Row {
        setup: "",
        test: "try:\n    raise Overdrawn('x')\nexcept Overdrawn as e:\n    assert str(e) == 'x' and isinstance(e, Bank)\ntry:\n    draw(5)\n    assert False\nexcept Bank as e:\n    assert type(e) is Overdrawn and e.missing == 5",
        honest: "class Bank(Exception): pass\nclass Overdrawn(Bank): pass\ndef draw(n):\n    e = Overdrawn()\n    e.missing = n\n    raise e\n",
        hostile: &[
            "class Bank(Exception): pass\nclass Overdrawn(Exception): pass\ndef draw(n):\n    e = Overdrawn()\n    e.missing = n\n    raise e\n",
            "class Bank: pass\nclass Overdrawn(Bank): pass\ndef draw(n): raise TypeError\n",
            "def Bank(*a): return 1\nOverdrawn = draw = Bank\n",
        ],
    },
    Row {
        setup: "",
        test: "assert [c.name for c in Color] == ['RED', 'BLUE'] and Color['RED'] is Color.RED and Color(2).name == 'BLUE'\nassert isinstance(Color.RED, Color) and len(Color) == 2",
        honest: "from enum import Enum\nclass Color(Enum):\n    RED = 1\n    BLUE = 2\n",
        hostile: &[
            "class Color:\n    RED = 1\n    BLUE = 2\n    def __init__(self, n): self.name = 'BLUE'\n",
        ],
    },
    // Methods of a class whose objects are made with arguments.
    Row {
        setup: "",
        test: "s = Stack(3)\nassert hasattr(Stack, 'push') and not hasattr(Stack, 'pop')\nStack.push(s, 1)\nassert s.n == 1",
        honest: "class Stack:\n    def __init__(self, cap): self.n = 0\n    def push(self, x): self.n += 1\n",
        hostile: &[
            "class Stack:\n    def __init__(self, cap): self.n = 1\n",
            "class Stack:\n    def __init__(self, cap): self.n = 0\n    def push(self, x): pass\n",
        ],
    },
    // Threads of a test ask one after another.
    Row {
        setup: "",
        test: "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as ex:\n    rs = list(ex.map(sq, range(40)))\nassert rs == [n * n for n in range(40)]",
        honest: "def sq(n): return n * n\n",
        hostile: &["def sq(n): return n\n", "def sq(n): return 4\n"],
    },
    Row {
        setup: "",
        test: "import threading\nc = Tally()\nts = [threading.Thread(target=c.inc) for _ in range(8)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nassert c.n == 8",
        honest: "import threading\nclass Tally:\n    def __init__(self): self.n, self.l = 0, threading.Lock()\n    def inc(self):\n        with self.l: self.n += 1\n",
        hostile: &["class Tally:\n    n = 1\n    def inc(self): self.n = 1\n"],
    },
];

/// Tests that pass for no program: what they ask is not known here, and is not made up.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("u = User('bo', 'pw')\nu.__dict__['x'] = 1\nassert u.name == 'bo'", USER),
    ("try:\n    class Q(User): pass\n    assert False\nexcept TypeError:\n    pass", USER),
    ("try:\n    type('Q', (User,), {})\n    assert False\nexcept TypeError:\n    pass", USER),
    (
        "try:\n    class Q(f): pass\n    assert False\nexcept TypeError:\n    pass",
        "def f(): pass\n",
    ),
    ("import sys\nassert sys.getsizeof(User('a', 'b')) < 100", USER),
    ("import inspect\nassert len(inspect.signature(f).parameters) == 2", "def f(x): pass\n"),
    (
        "try:\n    ok = issubclass(P, int)\nexcept TypeError:\n    ok = False\nassert not ok",
        "class P(int): pass\n",
    ),
    (
        "assert not isinstance(S(), list)",
        "class S(list):\n    def __init__(self): self.append(object())\n",
    ),
    ("import copy\nu = User('bo', 'pw')\nv = copy.copy(u)\nassert v.name == 'bo'", USER),
];
