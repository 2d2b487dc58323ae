//! Honest tests of several functions: none of them is refused.

use super::found;

#[track_caller]
fn fine(tests: &[&str]) {
    for test in tests {
        assert_eq!(found(test, ""), None, "{test}");
    }
}

#[test]
fn what_is_made_without_the_program_is_no_answer() {
    fine(&[
        "data = {'a': [1, 2]}\nassert valid(data['a'])\nassert total(data['a']) == 3",
        "def t(xs):\n  assert valid(xs)\n  assert total(xs) == 3\nt([1, 2])",
        "import copy\nxs = [1, 2]\nys = copy.deepcopy(xs)\nassert valid(ys)\nassert total(ys) == 3",
        "xs = []\nfor n in range(3): xs.append(n)\nassert valid(xs)\nassert total(xs) == 3",
        "import json\nd = json.loads('{}')\nassert valid(d)\nassert total(d) == 0",
        "from datetime import date\nd = date(2020, 1, 1)\nassert is_leap(d.year)\nassert days(d.year) == 366",
        "import io\nwith io.StringIO('a') as f:\n  text = f.read()\nassert valid(text)\nassert size(text) == 1",
        "make = lambda n: [n] * n\nassert valid(make(3))\nassert total(make(3)) == 9",
        "assert all(map(valid, [1, 2]))\nassert total([1]) == 1",
        "assert all(map(lambda n: valid(n), [1, 2]))\nassert total([1]) == 1",
        "def ok(n): return valid(n)\nassert all(map(ok, [1, 2]))\nassert total([1]) == 1",
        "class D:\n  xs = [1, 2]\nassert valid(D.xs)\nassert total(D.xs) == 3",
        "from collections import namedtuple\nP = namedtuple('P', 'x y')\np = P(1, 2)\nassert valid(p.x)\nassert total(p.y) == 3",
        "def t(xs=[1]): return valid(xs)\nassert t()\nassert total([1]) == 1",
    ]);
}

#[test]
fn what_one_function_makes_of_anothers_answer_is_compared() {
    fine(&[
        "for s in ['a', 'bc', '']:\n  assert decode(encode(s)) == s",
        "cases = [('a', 1), ('bc', 2)]\nfor s, k in cases:\n  assert decode(encode(s, k), k) == s",
        "assert all(decode(encode(s)) == s for s in ['a', 'bc'])",
        "import random, string\nrandom.seed(1)\nfor _ in range(10):\n  s = ''.join(random.choice(string.ascii_letters) for _ in range(9))\n  assert decode(encode(s)) == s",
        "def trip(s): return decode(encode(s))\nassert trip('a') == 'a'",
        "def check_trip(s, k):\n  assert decode(encode(s, k), k) == s\ncheck_trip('a', 1)\nfor s in ['b']: check_trip(s, 2)",
        "words = ['a', 'b']\nassert list(map(decode, map(encode, words))) == words",
        "words = ['a', 'b']\nout = [decode(encode(w)) for w in words]\nassert out == words",
        "words = ['a', 'b']\nfor coded, word in zip(map(encode, words), words):\n  assert decode(coded) == word",
        "for coded, word in [(encode('a'), 'a'), (encode('b'), 'b')]:\n  assert decode(coded) == word",
    ]);
}

#[test]
fn tables_of_functions_and_everything_else() {
    fine(&[
        "for f, x, want in [(first, 2, 4), (second, 3, 9)]:\n  assert f(x) == want",
        "import math\nfor f, x, want in [(first, 2, 4), (second, 3, 9)]:\n  assert math.isclose(f(x), want)",
        "for f, want in zip([first, second], [1, 2]):\n  assert f(3) == want",
        "import math\nfor f, want in zip([first, second], [1, 2]):\n  assert math.isclose(f(3), want)",
        "for name, f in {'a': first, 'b': second}.items():\n  assert f(3) == 9",
        "import unittest\nclass T(unittest.TestCase):\n  def setUp(self): self.words = ['a', 'b']\n  def test(self):\n    for w in self.words:\n      self.assertEqual(decode(encode(w)), w)\nT('test').debug()",
        "try:\n  decode('x', 1)\nexcept ValueError as e:\n  assert 'bad' in str(e)\nassert decode(encode('a', 1), 1) == 'a'",
        "def raises(f, *a):\n  try:\n    f(*a)\n  except ValueError:\n    return True\n  return False\nassert raises(decode, 'x')\nassert decode(encode('a')) == 'a'",
        "acc = open_account(100)\ndeposit(acc, 50)\nassert balance(acc) == 150",
        "acc = open_account(100)\nassert deposit(acc, 50) == 150\nassert withdraw(acc, 20) == 130",
        "q = make()\nfor n in range(3): push(q, n)\nout = []\nwhile not is_empty(q):\n  out.append(pop(q))\nassert out == [0, 1, 2]",
        "a = [[1, 2], [3, 4]]\nassert transpose(transpose(a)) == a\nassert multiply(a, identity(2)) == a",
        "root = None\nfor v in [3, 1, 2]:\n  root = insert(root, v)\nassert inorder(root) == [1, 2, 3]\nassert height(root) == 3",
        "a, b = 12, 18\nassert gcd(a, b) * lcm(a, b) == a * b",
        "assert is_even(2)\nassert not is_odd(2)",
        "for n in range(10):\n  assert is_even(n) == (n % 2 == 0)\n  assert is_odd(n) == (n % 2 == 1)",
        "xs = [n for n in range(10) if is_even(n)]\nassert xs == [0, 2, 4, 6, 8]\nassert not is_odd(4)",
        "assert sorted(['bb', 'a'], key=size) == ['a', 'bb']\nassert score('a') == 1",
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2\nassert evaluate('1 2 +') == 3",
        "s = Stack()\ns.push(1)\nassert size(s) == 1",
        "g = Graph()\ng.add_edge('a', 'b')\nassert bfs(g, 'a') == ['a', 'b']\nassert has_path(g, 'a', 'b') == True",
        "def close(a, b): return abs(a - b) < 1e-6\nassert close(area(2), 12.566370614)\nassert close(perimeter(2), 12.566370614)",
        "class P:\n  def __init__(self, x): self.x = x\np = P(3)\nassert double(p.x) == 6\nassert half(p.x) == 1.5",
        "xs = [3, 1]\nprint(sort(xs), xs)\nassert is_sorted([1, 2])\nassert sort(xs) == [1, 3]",
        "xs = [3, 1]\nsort(xs)\nassert xs == [1, 3]\nassert is_sorted([1, 2])",
        "from functools import lru_cache\n@lru_cache\ndef brute(n): return n if n < 2 else brute(n - 1) + brute(n - 2)\nfor n in range(9):\n  assert fib(n) == brute(n)\n  assert fast_fib(n) == brute(n)",
        "for n in range(5): assert slow(n) == fast(n)",
        "def to_list(node):\n  out = []\n  while node:\n    out.append(node.val)\n    node = node.next\n  return out\nhead = build([1, 2])\nassert to_list(reverse(head)) == [2, 1]",
        "def depth(node): return 0 if node is None else 1 + max(depth(node.left), depth(node.right))\nassert depth(insert(build([1]), 2)) == 2",
        "import threading\nrs = []\nts = [threading.Thread(target=lambda n=n: rs.append(double(n))) for n in range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nassert sorted(rs) == [0, 2, 4]\nassert half(4) == 2",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as ex:\n  rs = list(ex.map(double, [1, 2]))\nassert rs == [2, 4]\nassert half(4) == 2",
        "assert 3 in divisors(product(2, 3))\nassert len(divisors(product(2, 3))) == 4",
        "r = parse(dump([1]))\nassert isinstance(r, list)\nassert r == [1]",
        "r = find(build([1]), 1)\nassert r is not None\nassert r.val == 1",
        "class Raises:\n  def __init__(self, kind): self.kind = kind\n  def __enter__(self): return self\n  def __exit__(self, kind, e, t): return kind is not None and issubclass(kind, self.kind)\nwith Raises(ValueError):\n  decode('x')\nassert decode(encode('a')) == 'a'",
        "for name in ('real', 'imag'):\n  assert getattr(square(3), name) in (9, 0)\nassert cube(2) == 8",
        "r = parse(dump([1, 2]))\nif len(r) > 1:\n  assert r[0] == 1",
        "trees = [build([1]), build([1, 2])]\nassert sum(size(t) for t in trees) == 3",
        "assert len(sort(shuffle([3, 1]))) == 2",
        "q = make()\n[push(q, x) for x in [1, 2]]\nassert pop(q) == 1",
        "root = insert(make(), 5)\nassert root is not None",
        "assert [size(build(n)) for n in range(3)] == [0, 1, 2]",
        "assert {n: size(build(n)) for n in range(3)} == {0: 0, 1: 1, 2: 2}",
        "assert str(simplify(parse('1 + 1'))) == '2'",
        "t = build([1, 2])\nout = []\nwhile not is_empty(t):\n  x, t = take(t)\n  out.append(x)\nassert out == [1, 2]",
        "class T:\n  def setup(self): self.q = make()\n  def test(self):\n    push(self.q, 1)\n    assert pop(self.q) == 1\nt = T()\nt.setup()\nt.test()",
        "import numpy as np\ncases = [(first, 2, 4), (second, 3, 9)]\nfor f, x, want in cases:\n  assert np.isclose(f(x), want)",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int\n  y: int\np = P(1, 2)\nassert valid(p.x)\nassert total(p.x, p.y) == 3",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n  x: int = 0\nassert valid(P(1))\nassert total(P(1), P(2)) == 3",
        "import unittest\nclass T(unittest.TestCase):\n  def test(self):\n    for word in ['a', 'b']:\n      with self.subTest(word=word):\n        self.assertEqual(decode(encode(word)), word)\nT('test').debug()",
        "import unittest\nclass T(unittest.TestCase):\n  def test(self):\n    with self.assertRaises(ValueError) as err:\n      decode('x')\n    self.assertEqual(err.exception.args[0], 'bad')\n    self.assertTrue(valid('a'))\nT('test').debug()",
        "class T:\n  def must(self, want, got): assert decode(got) == want\n  def test(self): self.must('a', encode('a'))\nT().test()",
        "class P: pass\np = P()\np.x = 1\nassert vars(p) == {'x': 1}\nfor s in ['a']:\n  assert decode(encode(s)) == s\n  assert getattr(p, 'x') == 1",
        "try:\n  decode('x')\nexcept ValueError as e:\n  assert 'x' in str(e)\nfor w, e in [('a', 'a'), ('b', 'b')]:\n  assert decode(encode(w)) == e",
        "fs = [lambda x: x + 1]\nfor x in ['a']:\n  assert decode(encode(x)) == x\nassert fs[0](1) == 2",
        "class P:\n  def __eq__(self, other): return True\nfor other in ['a']:\n  assert decode(encode(other)) == other",
        "errors = []\ntry:\n  decode('x')\nexcept ValueError as e:\n  errors.append(e)\nassert len(errors) == 1\nassert list(map(decode, map(encode, ['a']))) == ['a']",
        "assert any_match(lambda x: x > 1, [1, 2])\nassert count_if(lambda x: x > 1, [1, 2]) == 1",
        "def big(x):\n  y = x\n  return y > 1\nassert any_match(big, [1, 2])\nassert count_if(big, [1, 2]) == 1",
        "class D:\n  def __init__(self, xs): self.xs = xs\n  def __getitem__(self, at): return self.xs[at]\n  def __len__(self): return len(self.xs)\nassert is_sorted(D([1, 2]))\nassert total(D([1, 2])) == 3",
        "import io\nwith io.StringIO('a') as f:\n  assert is_text(f)\nassert size('a') == 1",
    ]);
}

#[test]
fn loops_over_answers_and_round_trips_are_no_judges() {
    fine(&[
        "for x in solve(3): assert x > 0\nassert total([1]) == 1",
        "for a, b in zip(solve(3), total([1])): assert a == b",
        "a, b = split(join(1, 2))\nassert (a, b) == (1, 2)",
        "n = 0\nwhile n < size([1, 2]): n += 1\nassert n == 2 and total([1]) == 1",
    ]);
}
