//! Programs that may differ between runs, and programs that do not.

use super::*;
use crate::python::PythonVersion;
use crate::python::syntax::check;
use crate::stack::on_big_stack;

fn varies(source: &str) -> bool {
    on_big_stack(|stack| {
        may_vary(&check(source, PythonVersion::PY313, stack).expect(source), stack)
    })
    .unwrap()
}

#[test]
fn what_differs_between_runs_is_flagged() {
    let sources = [
        "import time",
        "from time import perf_counter as p",
        "import os.path",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as d\nd.date.today()",
        "import threading",
        "async def f(): pass",
        "import random\nrandom.seed()",
        "import random\nrandom.seed(None)",
        "from random import SystemRandom",
        "import random\nrandom.Random().random()",
        "import secrets",
        "import uuid",
        "import numpy as np\nnp.random.rand()",
        "from numpy import random",
        "id(1)",
        "f = hash",
        "object()",
        "str(lambda: 1)",
        "class A: pass\nprint(A())",
        "class A: pass\nlist(map(str, [A()]))",
        "open('x')",
        "import gc",
        "import sys\nsys._getframe()",
        "import sys\nsys.modules",
        "__import__('time')",
        "exec('1')",
        "eval('1')",
        "globals()",
        "getattr(a, b)",
        "getattr(a, '__class__')",
        "().__class__.__subclasses__()",
        "'{0.__class__}'.format(1)",
        "import ctypes",
        "from sys import *",
        "class A:\n    def __del__(self): pass",
        // Chance by ways that no list of forbidden things had.
        "import io\nio.open('/dev/urandom', 'rb').read(1)",
        "from io import FileIO\nFileIO('/dev/urandom')",
        "import fileinput\nfileinput.input('/dev/urandom')",
        "import sqlite3\nsqlite3.connect(':memory:').execute('select random()')",
        "from email.utils import make_msgid\nmake_msgid()",
        "import cProfile",
        "def f(): pass\nstr(f)",
        "def f(): pass\nx = [f]\nprint(x)",
        "random = lambda: 0\nprint(random)",
        // Modules through modules that are steady.
        "import random\nrandom._urandom(4)",
        "import random\nrandom._os.urandom(4)",
        "from random import _urandom",
        "import dataclasses\ndataclasses.sys",
        "from dataclasses import inspect",
        "import re as r\nm = r\nm.enum.sys",
        "import collections\nf(collections)",
        "import typing\ntyping.get_type_hints(f)",
        "import json.tool",
        // Addresses without `id`: order of sets, texts of iterators and methods.
        "class A: pass\nlist({A(), A()})",
        "def f(): pass\ndef g(): pass\nlist({f, g})",
        "[*{type(1), type('')}][0]",
        "set([lambda: 1, lambda: 2]).pop()",
        "str(x for x in [])",
        "repr(map(abs, []))",
        "f'{zip()}'",
        "i = iter([])\nprint(i)",
        "def g():\n    yield 1\nstr(g())",
        "x = []\nstr(x.append)",
        "import random\ndef f(): pass\nrandom.seed(f)",
        // How much there is left.
        "try:\n    x = [0] * 10 ** 9\nexcept MemoryError:\n    pass",
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept (ValueError, Exception):\n    pass",
        // Attributes and names out of sight.
        "from operator import attrgetter\nattrgetter('x')",
        "from functools import reduce\nreduce(getattr, ['x'], 1)",
        "'{0.gi_frame}'.format(1)",
        "'{0[x]}'.format({})",
        "type('A', (), {})",
        "unknown_name",
        "def f():\n    id = 1\nid(f)",
        "from . import x",
    ];
    all_vary(&sources);
}

#[track_caller]
fn all_vary(sources: &[&str]) {
    let steady: Vec<_> = sources.iter().filter(|source| !varies(source)).collect();
    assert!(steady.is_empty(), "{} are not flagged: {steady:#?}", steady.len());
}

#[test]
fn chance_without_a_seed_and_attributes_out_of_sight_are_flagged() {
    all_vary(&[
        // Generators whose seed may come from the system: of `None`, or made out of sight.
        "import random\nx = None\nrandom.seed(x)",
        "import random\nrandom.seed([None][0])",
        "import random\nrandom.seed(a=None)",
        "import random\nrandom.seed(*[])",
        "import random\nrandom.seed(7, *[])\nrandom.seed(1.5)",
        "import random\nrandom.seed(None or 0)",
        "import random\ndef make(s=None):\n    return random.Random(s)\nmake()",
        "from random import Random\nlist(map(Random, [None]))",
        "from random import Random\nmake = Random\nmake()",
        "import random\nmake = random.Random\nmake()",
        "from random import Random as R\nR()",
        "from random import seed as s\ns()",
        "from random import seed\n[f() for f in [seed]]",
        "from random import Random\nfrom dataclasses import dataclass, field\n@dataclass\nclass A:\n    r: Random = field(default_factory=Random)\nA()",
        "from random import Random\nfrom collections import defaultdict\ndefaultdict(Random)[1]",
        "from random import Random\nclass R(Random): pass\nR()",
        "import random\nclass R(random.Random): pass\nR()",
        "from random import Random\ntype(Random(1))()",
        "from random import Random\nRandom(1).seed()",
        "from random import Random\nr = Random(1)\nreset = r.seed\nreset()",
        "from random import Random\ngetattr(Random(1), 'seed')()",
        "import random\n@random.seed\ndef f(): pass",
        "from random import seed\n@seed\ndef f(): pass",
        "from random import Random\nmatch Random(1):\n    case Random(seed=again): again()",
        // Attributes that patterns and formats name.
        "from datetime import datetime\nmatch datetime:\n    case type(now=clock): clock()",
        "match ():\n    case object(__class__=c): pass",
        "class A:\n    __match_args__ = ('now',)",
        "x = []\nmatch x:\n    case list(append=f): print(f)",
        "t = ('{0' + '.append}').format([])",
        "t = '{0' + '.append}'\nt.format([])",
        "f = '{}'.format\nf([])",
        "str.format('{0' + '.append}', [])",
        "import string\nstring.Formatter().vformat('{0' + '.append}', ([],), {})",
        "list(map(str.format, ['{0' + '.append}'], [[]]))",
    ]);
}

#[test]
fn generators_made_anew_and_modules_behind_modules_are_flagged() {
    all_vary(&[
        "from random import Random\nr = Random(1)\nr.__init__()",
        "import random\nr = random.Random(1)\nrandom.Random.__init__(r)",
        "from random import Random\nr = Random(1)\nf = r.__init__\nf()",
        "from random import Random\ngetattr(Random(1), '__init__')()",
        "import enum\nenum.bltns.open('/dev/urandom')",
        "from enum import bltns",
        "import re\nre.enum",
        "import json\njson.decoder",
        "import statistics\nstatistics.random",
        "import heapq\nheapq._heapq",
        "import dataclasses\ndataclasses.keyword",
        "import array\narray.array('i', [1]).buffer_info()",
    ]);
}

#[test]
fn sets_whose_order_comes_from_addresses_are_flagged() {
    all_vary(&[
        "[*{len, print}]",
        "list({int, str})",
        "x = None\nlist({x, 1})",
        "list({..., 1})",
        "x = float('nan')\nlist({x, 1})",
        "x = 1e999\nlist({x - x, 1})",
        "import math\nlist({math.nan, 1})",
        "from math import inf\nlist({inf - inf, 1})",
        "list({iter([]), iter([])})",
        "list({*map(iter, [[], []])})",
        "try:\n    1 // 0\nexcept ZeroDivisionError as e:\n    x = [*{e, 1}]",
        "[*{ValueError(), KeyError()}]",
        "class E(ValueError): pass\nlist({E(), E()})",
        "import re\n[*{re.match('a', 'a'), 1}]",
        "d = {None: 1, 1: 2}\nk = d.keys()\nlist(k & d)",
        "x = []\n[*{x.append, x.pop}]",
        "from io import StringIO\n[*{StringIO(), StringIO()}]",
        "from textwrap import dedent, indent\n[*{dedent, indent}]",
        "import operator\n[*{operator.add, operator.sub}]",
    ]);
}

#[test]
fn texts_that_show_addresses_are_flagged() {
    all_vary(&[
        "from io import StringIO\nstr(StringIO())",
        "import io\nx = [io.StringIO()]\nprint(x)",
        "x = [iter([])]\nprint(x)",
        "x = {'a': zip()}\nprint(x)",
        "g = (x for x in [])\nprint([g])",
        "def f(x): return str(x)\nf(map(abs, []))",
        "def f(): return map(abs, [])\nprint(f())",
        "print(list(map(iter, [[]])))",
        "import itertools\nprint([itertools.count()])",
        "from itertools import groupby\nfor k, g in groupby('aab'):\n    print(g)",
        "import hashlib\nh = hashlib.md5(b'')\nprint([h])",
        "import functools\nprint([functools.partial(int)])",
        "from textwrap import dedent\nprint(dedent)",
        "import re\nx = re.finditer('a', 'a')\nprint(x)",
        "print([property()])",
        "x = [1]\nprint([x.append])",
    ]);
}

#[test]
fn what_is_the_same_in_each_run_is_not() {
    for source in [
        "import random\nrandom.random()",
        "import random\nrandom.seed(7)\nrandom.shuffle([1])",
        "import random\nrandom.seed(-7)\nrandom.seed('a')\nrandom.seed(b'a')",
        "from random import Random, seed\nseed(3)\nprint(Random(5).random())",
        "import random\ndef f(r: random.Random) -> float:\n    return r.random()\nf(random.Random(1))",
        "def f(seed):\n    return seed * 2\nf(3)",
        "print('{} {:>5}'.format(1, 2))",
        "match (1, 2):\n    case (a, b): print(a, b)\n    case int(real=r): print(r)",
        "import math, re, collections, itertools, heapq\nmath.sqrt(2)",
        "from datetime import date\ndate(2020, 1, 1)",
        "def f(x):\n    return sorted(set(x))",
        "class A:\n    def __init__(self): self.x = 1\n    def __repr__(self): return f'{self.x}'",
        "class A:\n    def __init__(self): self.x = 1\na = A().x + 1",
        "a = 1\ngetattr(a, 'x')",
        "import sys\nsys.maxsize",
        "print('a %s' % 1)",
        "from typing import List\ndef f(x: List[int]) -> str:\n    return str(sum(x))",
        "from collections import defaultdict, Counter\nd = defaultdict(list)\nprint(Counter('ab'))",
        "import collections.abc\nfrom collections import abc\ncollections.deque([1])",
        "def f(words):\n    return sorted(set(words), key=lambda w: (len(w), w))",
        "def key(x): return -x\ndef f(x): return [str(y) for y in sorted(set(x), key=key)]",
        "import math\ndef f(x): return f'{math.pi * x:.2f} {{}}'",
        "def f(x):\n    try:\n        return int(x)\n    except (ValueError, TypeError) as e:\n        return str(e)",
        "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(n):\n    return f(n - 1) if n else 0\nprint(f(3))",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nprint(P(1).x, {1, 2})",
        "class Node:\n    def __init__(self, value): self.value, self.next = value, None\n    def __repr__(self): return str(self.value)\nprint(Node(1).next)",
        "class Stack(object):\n    def push(self, x): self._items = [x]\nStack().push(1)",
        "a, b = map(int, '1 2'.split())\nprint(a + b, ' '.join(map(str, [a, b])))",
        "match [1]:\n    case [x, *rest]: print(x, rest)",
        "def f(x):\n    raise Exception('no')",
        "print(*(x for x in [1]))",
        "print(' '.join(str(x) for x in range(3)))",
        "for a, b in zip([1], [2]):\n    print(a, b)",
        "import hashlib\nprint(hashlib.md5(b'a').hexdigest())",
        "s = set('ab')\nprint(sum(1 for x in s if x in s))",
        "import random\nclass A:\n    def __init__(self, x): self.x = x\nclass B(A):\n    def __init__(self, x): super().__init__(x)\nB(1)",
        "import random\nclass A:\n    def __init__(self): self.x = 1\nclass B(A):\n    def __init__(self): A.__init__(self)\nB()",
        "try:\n    int('x')\nexcept ValueError:\n    print({1, 2})",
        "from collections import Counter\nprint(Counter('ab').most_common(1), sorted({1}))",
        "def f(words):\n    return sorted(set(words), key=str.lower)",
        "def f(x):\n    if x is None: raise ValueError('no')\n    return list(set(x))",
        "import math, string\nprint(math.sqrt(2), math.pi, string.ascii_letters)",
        "from itertools import combinations, chain\nfor a in combinations([1, 2], 2): print(a)\nprint(list(chain([1], [2])))",
        "import re\nm = re.match('a', 'ab')\nprint(m.group(0), re.sub('a', 'b', 'aa'))",
        "import math, operator, functools\nprint(functools.reduce(operator.mul, [1, 2]), max([1], key=math.sqrt))",
    ] {
        assert!(!varies(source), "{source}");
    }
}

#[test]
fn text_by_ways_that_no_list_has_is_flagged() {
    let texts = [
        "try:\n    [].index(g)\nexcept ValueError as e:\n    x = e.args[0]",
        "x = g.__repr__()",
        "x = g.__str__()",
        "x = '%s'.__mod__(g)",
        "x = '%s'\nx %= g",
        "import operator\nx = operator.mod('%s', g)",
        "from operator import mod as m\nx = m('%s', g)",
        "x = type('')(g)",
        "t = type('')\nx = t(g)",
        "x = [t(g) for t in map(type, [''])]",
        "from string import Template\nx = Template('$x').substitute(x=g)",
        "from collections import UserString\nx = UserString(g).data",
        "from string import Formatter\nx = Formatter().format_field(g, '')",
        "from string import Formatter\ndef convert_field(): pass\nx = Formatter().convert_field(g, 's')",
        "from enum import Enum\nclass E(Enum):\n    a = 1\ntry:\n    E(g)\nexcept ValueError as e:\n    x = e.args",
        "class A:\n    def text(self): return super().__repr__()",
        "from collections import Counter\nx = Counter([g]).__repr__()",
        "def format(): pass\nx = '{}'.format(g)",
        "x = str.__call__(g)",
        "import json\nx = json.dumps(1, default=g)",
        "class C:\n    def __enter__(self): pass\n    def __exit__(self, kind, e, trace): self.x = e.args\nwith C():\n    [].index(g)",
        "input(g)",
        "x = getattr(g, '__repr__')()",
    ];
    for text in texts {
        assert!(varies(&format!("def g(): pass\nh = [g]\n{text}")), "{text}");
    }
}

#[test]
fn texts_of_what_has_no_name_and_swallowed_exceptions_are_flagged() {
    all_vary(&[
        "def g(): pass\nx = g.__str__()",
        "x = iter([]).__repr__()",
        "x = object.__repr__(len)",
        "import hashlib\nx = hashlib.md5().__repr__()",
        "from functools import partial\nx = partial(len).__repr__()",
        "import sys\nx = sys.stdout.__repr__()",
        "from textwrap import TextWrapper\nx = TextWrapper().__repr__()",
        "E = Exception\ntry:\n    f()\nexcept E:\n    pass",
        "def f(n):\n    try:\n        return f(n + 1)\n    except RuntimeError:\n        return n",
        "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True",
    ]);
}

#[test]
fn sets_by_another_name_are_flagged() {
    all_vary(&[
        "k = {}.keys\nx = list(k() | [None, 1])",
        "x = [*map(dict.keys, [{None: 1}])][0] | {}.keys()",
        "k = getattr({}, 'items')\nx = list(k() | [None, 1])",
        "seen = {1}\nx = list(type(seen)([None, 1]))",
    ]);
}

#[test]
fn programs_with_functions_as_values_that_make_no_text_stay_steady() {
    for source in [
        "def f(xs):\n    return sorted(xs, key=lambda x: (-x[1], x[0]))",
        "from functools import reduce\ndef f(xs):\n    return reduce(lambda a, b: a * b, xs, 1)",
        "def f(xs):\n    fs = {'a': lambda x: x + 1, 'b': len}\n    return fs['a'](len(xs))",
        "from collections import Counter, defaultdict\ndef f(xs):\n    d = defaultdict(lambda: 0)\n    d[1] += 1\n    return Counter(xs).most_common(2), dict(d), list(map(int, xs))",
        "def f(x):\n    g = (y for y in x if isinstance(y, (int, str)))\n    return next(g)",
        "class Node:\n    def __init__(self, v): self.v, self.next = v, None\n    def add(self, v):\n        self.next = Node(v)\n        return self.next\nn = Node(1).add(2)",
        "class A:\n    def __init__(self, x): self.x = x\n    def __str__(self): return f'{self.x}'\n    def __repr__(self): return self.__str__()\nx = A(1).x",
        "import heapq, math, itertools\ndef f(xs):\n    h = []\n    heapq.heappush(h, 1)\n    p = itertools.permutations(xs)\n    return math.gcd(*xs), [''.join(q) for q in p]",
    ] {
        assert!(!varies(source), "{source}");
    }
}
