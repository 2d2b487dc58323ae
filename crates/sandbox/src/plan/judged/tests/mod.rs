//! Tests that judge themselves, and tests that do not.

mod honest;
mod ways;

use super::*;

fn found(test: &str, setup: &str) -> Option<(usize, String)> {
    let source = ParsedSource::parse(test).unwrap();
    let names = ScopeNames::of(source.tree.suite());
    match refuse_self_judged(&source, &names, &TestSetup::split(setup).unwrap(), None) {
        Ok(()) => None,
        Err(
            SourceError::SelfJudged { line, name } | SourceError::SelfJudgedInSetup { line, name },
        ) => Some((line, name)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_function_of_nobody_may_not_judge_an_answer() {
    for (test, line, name) in [
        ("assert is_close(add(2, 3), 5)", 1, "is_close"),
        ("assert not differs(add(2, 3), 5)", 1, "differs"),
        ("assert is_close(add(2, 3), 5) == True", 1, "is_close"),
        ("assert is_close(add(2, 3), 5) is True", 1, "is_close"),
        ("assert distance(add(2, 3), 5) < 1e-6", 1, "distance"),
        ("assert abs(distance(add(2, 3), 5)) < 1e-6", 1, "distance"),
        ("assert -distance(add(2, 3), b=5) > -1", 1, "distance"),
        ("assert np.allclose(add(2, 3), 5)", 1, "np"),
        ("x = 1\nassert x and np.allclose(add(2, 3), 5)", 2, "np"),
        ("def check(c):\n  assert np.allclose(c(2, 3), 5)", 2, "np"),
        ("def check(c):\n  assert same(c(2, 3), 5)", 2, "same"),
        ("def check(c):\n  x = c(2, 3)\n  assert math.fabs(poly([1], x)) < 1", 3, "poly"),
        ("r = [add(2, 3)]\nassert all(near(a, b) for a, b in zip(r, [5]))", 2, "near"),
        ("def same(a, b): return near(a, b)\nassert same(add(2, 3), 5)", 1, "near"),
        ("ok = near(add(2, 3), 5)\nif not ok: raise ValueError", 1, "near"),
        ("if not near(add(2, 3), 5): ok = False", 1, "near"),
        // By another name, or handed on as a value.
        ("same = near\nassert same(add(2, 3), 5)", 2, "near"),
        ("fs = [near]\nr = add(2, 3)\nassert fs[0](r, 5)", 3, "near"),
        ("assert all(map(near, [add(2, 3)], [5]))", 1, "near"),
        ("r = [add(2, 3)]\nok = list(map(valid, r))\nassert all(ok)", 2, "valid"),
        ("assert list(filter(valid, [add(2, 3)]))", 1, "valid"),
        ("assert partial(near, 5)(add(2, 3))", 1, "near"),
        ("is_5 = functools.partial(near, 5)\nassert is_5(add(2, 3))", 2, "near"),
        ("assert all(map(lambda r: near(r, 5), [add(2, 3)]))", 1, "near"),
        ("def holds(f, *a): return f(*a)\nassert holds(near, add(2, 3), 5)", 1, "near"),
        // Without an argument beside the answer.
        ("assert valid(add(2, 3))", 1, "valid"),
        ("r = add(2, 3)\nassert valid(r) is True", 2, "valid"),
        ("ok = valid(add(2, 3))\nassert ok and 1", 1, "valid"),
        ("xs = [2, 1]\nsort(xs)\nassert is_sorted(xs)", 3, "is_sorted"),
        ("def check(c):\n  r = c(2, 3)\n  assert valid(r)", 3, "valid"),
        // Where nothing says `assert`, or something else does.
        ("match near(add(2, 3), 5):\n  case True: pass\n  case _: raise ValueError", 1, "near"),
        ("match add(2, 3):\n  case r if True: pass\nassert near(r, 5)", 3, "near"),
        ("near(add(2, 3), 5)\nassert True", 1, "near"),
        ("r = add(2, 3)\nmust_be(r, 5)\nassert r is not None", 2, "must_be"),
        ("with judged(add(2, 3), 5): pass", 1, "judged"),
        ("found = []\nfound.append(near(add(2, 3), 5))\nassert all(found)", 2, "near"),
        (
            "class T(Case):\n  def test(self): self.assertTrue(near(add(2, 3), 5))\nT().test()",
            2,
            "near",
        ),
        (
            "class T:\n  def holds(self, got): return near(got, 5)\nassert T().holds(add(2, 3))",
            2,
            "near",
        ),
        (
            "class T:\n  def __init__(self, got): self.ok = near(got, 5)\nassert T(add(2, 3)).ok",
            2,
            "near",
        ),
        ("s = Stack()\nr = s.pop()\nassert near(r, 5)", 3, "near"),
    ] {
        assert_eq!(found(test, ""), Some((line, name.to_owned())), "{test}");
    }
}

#[test]
fn answers_that_are_compared_and_helpers_of_the_setup_are_fine() {
    for test in [
        "assert decode(encode('a', 1), 1) == 'a'",
        "assert f(f(1)) == 1",
        "assert f(f(1))",
        "assert f(1, 2)",
        "assert abs(f(1, 2) - 3) < 1",
        "assert math.isclose(f(1), 2)",
        "assert same(add(2, 3), 5)",
        "assert height(Node(1), 2) < 3",
        "assert height(math.floor(1.5), 2) < 3",
        "def check(c):\n  assert c(c(1), 2)",
        "e = encode('a', 1)\nd = decode(e, 1)\nassert d == 'a'",
        "s = ''.join(['a'])\nassert decode(encode(s, 1), 1) == s",
        "assert decode(encode(s, 1), 1) == ''.join(s)",
        "root = None\nfor v in [2, 1]: root = insert(root, v)\nassert root is not None",
        "tree = make(1)\ninsert(tree, 5)\nassert height(tree) == 2",
        "tree = make(1)\nwhile tree: tree = cut(tree, 1)\nassert tree == []",
        "def t(xs, k): return has_pair(xs, k)\nassert t([1, 2], 3)",
        "r = add(2, 3)\nassert [is_close(r, 5), is_close(r, 6)] == [True, False]",
        "def check(c):\n  assert same(c(1), 2)",
        "def same(a, b): return a == b\nassert same(add(2, 3), 5)",
        "assert f(f(1)) and not f(f(2))",
        "assert half(double(3)) < 4 and 3 in divisors(product(2, 3))",
        "assert math.isclose(decode(encode(1.5, 2), 2), 1.5)",
        "assert same(decode(encode('a', 1), 1), 'a')",
        "back = decode\nassert back(encode('a', 1), 1) == 'a'",
        "assert list(map(decode, [encode('a')])) == ['a']",
        "out = []\nout.append(decode(encode('a', 1), 1))\nassert out == ['a']",
        "q = make()\npush(q, 1)\nwhile not is_empty(q): n = pop(q)\nassert n == 1",
        "load(config)\nassert total() == 3",
        "assert isinstance(decode(encode('a', 1), 1), str)",
        "for f in (first, second):\n  assert f(2) == 4",
        "s = Stack()\npush(s, 1)\nassert s.pop() == 1",
        "tree = insert(make(), 5)\nassert tree.root.value < 6",
        "def check(c):\n  tree = build([1])\n  assert c(tree, 1)",
        "class T(Case):\n  def test(self): self.assertEqual(decode(encode('a', 1), 1), 'a')\nT().test()",
        "assert decode(encode('abc', 1), 1).startswith('a')",
    ] {
        let setup = "import math\ndef same(a, b): return a == b";
        assert_eq!(found(test, setup), None, "{test}");
    }
}

#[test]
fn answers_and_helpers_of_the_setup_are_followed() {
    for (setup, test, name) in [
        ("def close(a, b): return near(a, b)", "assert close(add(2, 3), 5)", "near"),
        ("def must(r):\n  assert near(r, 5)", "must(add(2, 3))", "near"),
        ("r = add(2, 3)", "assert near(r, 5)", "near"),
        ("r = add(2, 3)", "assert not valid(r)", "valid"),
    ] {
        let found = found(test, setup).map(|(_, name)| name);
        assert_eq!(found.as_deref(), Some(name), "{setup}\n{test}");
    }
    for (setup, test) in [
        ("root = Node(1)\nroot.left = Node(2)", "assert is_balanced(root)"),
        ("root = Node(1)", "assert contains(root, 1) == True"),
        ("tree = build([1])", "assert height(tree) == 1"),
    ] {
        assert_eq!(found(test, setup), None, "{setup}\n{test}");
    }
}
