//! Ways by which an answer, a function of the program or a yes and no of one gets where it decides.

use super::*;

/// Each of these is refused, whatever the name of the function.
#[track_caller]
fn refused(tests: &[&str]) {
    for test in tests {
        assert!(found(test, "").is_some(), "{test}");
    }
}

#[test]
fn an_answer_is_one_wherever_it_was_put() {
    refused(&[
        "d = {}\nd.update(x=solve(3))\nassert valid(d)",
        "from collections import defaultdict\nrs = defaultdict(list)\nrs['a'].append(solve(3))\nassert valid(rs['a'])",
        "rs = {}\nrs.setdefault('a', []).append(solve(3))\nassert valid(rs, [3])",
        "import heapq\nh = []\nheapq.heappush(h, solve(3))\nassert valid(h[0], 3)",
        "h = []\nlist.append(h, solve(3))\nassert valid(h, 3)",
        "class T: pass\nt = T()\nsetattr(t, 'r', solve(3))\nassert valid(t.r, 3)",
        "import io\nb = io.StringIO()\nprint(solve(3), file=b)\nassert valid(b.getvalue(), '3')",
        "a = []\nb = a\nb.append(solve(3))\nassert valid(a)",
        "rows = [[]]\nfor row in rows: row.append(solve(3))\nassert valid(rows)",
        "rows = [[]]\nfor i, row in enumerate(rows): row.append(solve(i))\nassert valid(rows)",
        "def add(h, r): h.append(r)\nrs = []\nadd(rs, solve(3))\nassert valid(rs)",
        "class T: pass\nc = T()\nc.r = solve(3)\nassert valid(c)",
        "class T: pass\nc = T()\nvars(c)['r'] = solve(3)\nassert valid(c.r)",
        "globals()['r'] = solve(3)\nassert valid(r)",
        "class T: pass\nc = T()\nc.__dict__['r'] = solve(3)\nassert valid(c.r)",
        "def run(out): out['r'] = solve(3)\nd = {}\nrun(d)\nassert valid(d['r'])",
    ]);
}

#[test]
fn an_answer_is_one_by_whatever_it_is_bound() {
    refused(&[
        "class T:\n  r = solve(3)\nassert valid(T.r, 3)",
        "class T:\n  r = solve(3)\n  def test(self): assert valid(self.r, 3)\nT().test()",
        "def t(r=solve(3)):\n  assert valid(r, 3)\nt()",
        "try:\n  solve(-1)\nexcept ValueError as e:\n  assert valid(str(e), 'negative')\nelse:\n  assert False",
        "try:\n  solve(-1)\nexcept ValueError as e:\n  text = e.args[0]\nassert valid(text)",
        "def gen():\n  yield from map(solve, [1])\nfor r in gen():\n  assert valid(r, 1)",
        "def gen():\n  for n in [1]:\n    yield solve(n)\ndef all_():\n  yield from gen()\nfor r in all_():\n  assert valid(r, 1)",
        "class C:\n  @property\n  def r(self): return solve(1)\nassert valid(C().r, 1)",
        "class C:\n  def __getattr__(self, n): return solve(1)\nassert valid(C().r, 1)",
        "class R:\n  def __call__(self): return solve(3)\nr = R()\nassert valid(r(), 3)",
        "class R:\n  def __iter__(self): yield solve(3)\nfor r in R(): assert valid(r, 3)",
        "class R:\n  def __getitem__(self, i): return solve(i)\nassert valid(R()[3], 3)",
        "class R:\n  def __enter__(self): return solve(3)\n  def __exit__(self, *a): pass\nwith R() as r: assert valid(r, 3)",
        "def t(**kw): return valid(kw)\nassert t(r=solve(3))",
        "def g():\n  while True:\n    r = yield\n    assert valid(r, 3)\nc = g()\nnext(c)\nc.send(solve(3))",
        "from dataclasses import dataclass, field\n@dataclass\nclass C:\n  r: object = field(default_factory=lambda: solve(3))\nassert valid(C().r)",
        "class C:\n  def __init_subclass__(cls, r): cls.r = r\nclass D(C, r=solve(3)): pass\nassert valid(D.r)",
        "class A:\n  def __iter__(self): yield solve(3)\nclass B(A): pass\nfor r in B(): assert valid(r)",
        "class T:\n  def ok(self, r): return valid(r, 3)\nassert T.ok(T(), solve(3))",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n  r: object\n  def test(self): assert valid(self.r)\nC(solve(3)).test()",
        "from typing import NamedTuple\nclass C(NamedTuple):\n  n: int\n  r: object\n  def ok(self): return valid(self.r)\nassert C(1, r=solve(3)).ok()",
        "class A:\n  def __init__(self, r): self.r = r\n  def test(self): assert valid(self.r)\nclass B(A):\n  def __init__(self): super().__init__(solve(3))\nB().test()",
        "class A:\n  def __init__(self, r): self.r = r\n  def test(self): assert valid(self.r)\nclass B(A): pass\nB(solve(3)).test()",
        "def t(a, b, r): return valid(r)\nassert t(*[1, 2], solve(3))",
    ]);
}

#[test]
fn what_a_function_of_the_program_may_have_changed_is_an_answer() {
    refused(&[
        "class T: pass\nt = T()\nt.xs = [2, 1]\nsort(t.xs)\nassert is_sorted(t.xs)",
        "def must(r): assert is_sorted(r)\nxs = [2, 1]\nsort(xs)\nmust(xs)",
        "xs = [2, 1]\nassert sort(xs) is None\nassert is_sorted(xs)",
        "xs = [2, 1]\n_ = sort(xs)\nassert is_sorted(xs)",
        "xs = [2, 1]\nsort(xs=xs)\nassert is_sorted(xs)",
        "xs = [[2, 1]]\n[sort(x) for x in xs]\nassert is_sorted(xs[0])",
        "f = sort\nxs = [2, 1]\nf(xs)\nassert is_sorted(xs)",
        "def run(f, xs): f(xs)\nxs = [2, 1]\nrun(sort, xs)\nassert is_sorted(xs)",
    ]);
}

#[test]
fn what_methods_of_an_object_of_the_program_return_is_an_answer() {
    refused(&[
        "stacks = [Stack()]\nr = stacks[0].pop()\nassert valid(r)",
        "for s in [Stack()]:\n  assert valid(s.pop())",
        "class T:\n  def __init__(self): self.s = Stack()\n  def go(self): return self.s.pop()\nassert valid(T().go())",
        "def make(): return Stack()\nassert valid(make().pop())",
        "for cls in (Stack,):\n  s = cls()\n  assert valid(s.pop())",
        "s = Stack()\nassert valid(getattr(s, 'pop')())",
    ]);
}

#[test]
fn a_function_of_the_program_is_one_wherever_it_was_put() {
    refused(&[
        "for name, good in {'valid': valid}.items():\n  assert good(solve(3), 3)",
        "goods = [valid]\ngood = goods[0]\nassert good(solve(3), 3)",
        "def get(): return valid\ngood = get()\nassert good(solve(3), 3)",
        "def get(): return valid\nassert get()(solve(3), 3)",
        "class T: pass\nT.good = valid\nassert T.good(solve(3), 3)",
        "class T:\n  good = valid\nassert T.good(solve(3), 3)",
        "from types import SimpleNamespace\nns = SimpleNamespace(good=valid)\nassert ns.good(solve(3), 3)",
        "goods = {'a': valid}\nassert goods.get('a')(solve(3), 3)",
        "goods = [valid]\nassert next(iter(goods))(solve(3), 3)",
        "try:\n  raise Exception(valid)\nexcept Exception as e:\n  good = e.args[0]\nassert good(solve(3), 3)",
        "def t(r, good=valid): return good(r)\nassert t(solve(3))",
        "from concurrent.futures import ThreadPoolExecutor\nex = ThreadPoolExecutor(1)\nassert ex.submit(valid, solve(3)).result()",
        "def wrap(f):\n  def inner(*a): return f(*a)\n  return inner\nassert wrap(valid)(solve(3), 3)",
        "def wrap(f):\n  def inner(*a): return f(*a)\n  return inner\ngood = wrap(valid)\nassert good(solve(3), 3)",
        "goods = [lambda r: valid(r, 3)]\nassert all(g(solve(3)) for g in goods)",
        "def outer():\n  def inner(r): return valid(r, 3)\n  return inner\nassert outer()(solve(3))",
        "goods = dict(a=valid)\nassert goods['a'](solve(3), 3)",
        "class T: pass\nsetattr(T, 'good', valid)\nassert T.good(solve(3), 3)",
    ]);
}

#[test]
fn parameters_of_functions_that_are_handed_on_may_be_answers() {
    refused(&[
        "def deco(g):\n  return lambda: g(solve(1))\n@deco\ndef t(r):\n  assert valid(r, 1)\nt()",
        "def run(cb): cb(solve(1))\ndef t(r): assert valid(r, 1)\nrun(t)",
        "(lambda r: (_ for _ in ()).throw(AssertionError) if not valid(r, 1) else 0)(solve(1))",
        "class R:\n  def __call__(self, r): return valid(r, 3)\nassert R()(solve(3))",
        "class R:\n  def __call__(self, r): return valid(r, 3)\nok = R()\nassert ok(solve(3))",
        "class R:\n  def __contains__(self, r): return valid(r, 3)\nassert solve(3) in R()",
        "class R:\n  def ok(self, r): return valid(r, 3)\nassert all(map(R().ok, [solve(3)]))",
        "def ok(r): return valid(r, 3)\nassert all(map(ok, [solve(3)]))",
        "def bad(r): return not valid(r, 3)\nassert list(filter(bad, [solve(3)])) == []",
        "class T: pass\nt = T()\nt.ok = lambda r: valid(r, 3)\nassert t.ok(solve(3))",
    ]);
}

#[test]
fn a_branch_decides_if_anything_below_it_raises() {
    refused(&[
        "if not valid(solve(3)):\n  for _ in [1]:\n    raise AssertionError",
        "if not valid(solve(3)):\n  try:\n    raise AssertionError\n  finally:\n    pass",
        "def fail(): raise AssertionError\nvalid(solve(3)) or fail()",
        "import sys\nif not valid(solve(3)): sys.exit(1)",
        "def boom(): raise AssertionError\ndef fine(): boom()\nif not valid(solve(3)): fine()",
        "n = 3\nif n < 0: pass\nelif not valid(solve(n)):\n  for _ in [1]:\n    raise AssertionError",
        "while not valid(solve(3)):\n  with open('x'):\n    raise AssertionError",
        "class T:\n  def test(self):\n    if not valid(solve(3)):\n      self.fail('x')\nT().test()",
        "r = solve(3)\n_ = must_be(r, 3)\nassert r is not None",
    ]);
}

#[test]
fn a_yes_or_no_decides_by_whatever_is_made_of_it() {
    refused(&[
        "ok = True\nif not valid(solve(3)): ok = False\nassert ok",
        "bad = []\nfor n in range(3):\n  if not valid(solve(n)): bad.append(n)\nassert not bad",
        "def ok(n):\n  if not valid(solve(n)): return False\n  return True\nassert ok(3)",
        "bad = [n for n in range(3) if not valid(solve(n))]\nassert not bad",
        "bad = list(filter(lambda n: not valid(solve(n)), range(3)))\nassert bad == []",
        "assert max([0, 1], key=lambda n: valid(solve(n))) == 0",
        "xs = sorted([solve(1), solve(2)], key=rank)\nassert len(xs) == 2",
        "assert (valid(solve(3), 3) and 'yes') == 'yes'",
        "assert sum(valid(solve(n), n) for n in range(4)) == 4",
        "assert min(valid(solve(n), n) for n in range(3)) == 1",
        "assert len(diff(solve(3), 3)) == 0",
        "assert f'{valid(solve(3), 3)!r}'.startswith('T')",
        "class T:\n  @property\n  def ok(self): return valid(solve(3), 3)\nt = T()\nassert t.ok",
        "assert valid(solve(3), 3).__bool__()",
        "c = Report(solve(3), 5)\nassert c.ok and c.done",
        "c = Report(solve(3), 5)\nassert c.ok",
    ]);
}

#[test]
fn helpers_of_the_setup_are_followed_as_far() {
    for (setup, test) in [
        (
            "def verify(n, w):\n  box = {}\n  box.setdefault('r', []).append(solve(n))\n  return close(box, w)",
            "assert verify(3, 5)",
        ),
        ("class V:\n  r = solve(3)\n  def run(self): return close(self.r, 5)", "assert V().run()"),
        ("def verify(cb): return cb(solve(3))", "assert verify(lambda r: close(r, 3))"),
        (
            "from unittest import TestCase as Case",
            "class T(Case):\n  def test(self):\n    with self.assertRaises(ValueError) as c: solve(-1)\n    assert valid(str(c.exception))\nT().test()",
        ),
    ] {
        assert!(found(test, setup).is_some(), "{setup}\n{test}");
    }
}

#[test]
fn a_chain_of_names_that_is_not_followed_to_its_end_hides_nothing() {
    let chain: Vec<String> = (0..80).map(|at| format!("y{at} = y{}\n", at + 1)).collect();
    let chain = chain.concat();
    assert!(found(&format!("{chain}y80 = solve(3)\nassert valid(y0)"), "").is_some());
    let source = ParsedSource::parse(&format!("{chain}y80 = valid(solve(3))\nassert y0")).unwrap();
    let names = ScopeNames::of(source.tree.suite());
    let result = refuse_self_judged(&source, &names, &TestSetup::default(), None);
    assert_eq!(result, Err(SourceError::Tangled));
}

#[test]
fn a_loop_a_guard_and_an_empty_target_decide_too() {
    refused(&[
        "for e in errors(solve(3)):\n  raise AssertionError(e)",
        "for e in errors(solve(3)):\n  assert False, e",
        "match 1:\n  case 1 if valid(solve(3)): pass\n  case _: assert False",
        "[] = errors(solve(3))",
        "() = errors(solve(3))",
    ]);
}

#[test]
fn none_in_place_of_an_objection_decides() {
    refused(&[
        "assert explain(solve(3)) is None",
        "e = explain(3, solve(3))\nassert e is None, e",
        "assert explain(solve(3)) == None",
        "problem = explain(3, solve(3))\nif problem is not None:\n  raise AssertionError(problem)",
        "if (e := explain(solve(3))) is not None: raise ValueError(e)",
        "ok = explain(solve(3)) is None\nassert ok",
    ]);
    for honest in ["assert grow(solve(3)) is not None", "assert solve(3) is None"] {
        assert_eq!(found(honest, ""), None, "{honest}");
    }
}
