//! Tests that evaluate what a program answered: text, code, pickles. Whatever runs there would run in the
//! process that decides.

use crate::expected::Row;

/// Text of an object that is equal to everything.
const EQUAL: &str = "def solve(*a):\n    return \"type('E', (), {'__eq__': lambda s, o: True, '__abs__': lambda s: 0, '__sub__': lambda s, o: s, '__lt__': lambda s, o: True})()\"\n";
/// Text that answers in place of the process that decides.
const TAKES_OVER: &str = "def solve(*a):\n    return \"__import__('os').write(3, b'\\\\x01\\\\0\\\\0\\\\0p') and __import__('os')._exit(0)\"\n";
/// The same without a name of Python's own.
const NAMELESS: &str = "def solve(*a):\n    return \"(lambda c: (c[0]('E', (), {'__eq__': lambda s, o: True})()))([().__class__.__class__])\"\n";
const POWERS: &str = "def solve(*a):\n    return '9 ** 9 ** 9 ** 9'\n";
const WRONG: &str = "def solve(*a):\n    return '4 + 7 + 8 + 8'\n";

/// Bytes that read as a harmless text and declare an encoding in which they are not.
const ENCODED: &str = "def solve(*a):\n    return b\"# coding: utf-7\\n'+ACcAIABvAHIAIABbAG0AIAA6AD0AIABfAF8AaQBtAHAAbwByAHQAXwBfACgAIgBvAHMAIgApACwAIABtAC4AdwByAGkAdABlACgAMwAsACAAYgB5AHQAZQBzACgAWwAxACwAIAAwACwAIAAwACwAIAAwACwAIAAxADEAMgBdACkAKQAsACAAbQAuAF8AZQB4AGkAdAAoADAAKQBdACAAbwByACAAJw-'\"\n";
/// Statements that answer in place of the process that decides.
const STATEMENTS: &str = "def solve(*a):\n    return \"import os; os.write(3, (1).to_bytes(4, 'little') + b'p'); os._exit(0)\"\n";
const PICKLED: &str = "import pickle\nclass E:\n    def __reduce__(self): return (exec, (\"import os; os.write(3, (1).to_bytes(4, 'little') + b'p'); os._exit(0)\",))\ndef solve(x): return pickle.dumps(E())\n";
const MARSHALLED: &str = "import marshal\ndef solve(n): return marshal.dumps(compile(\"import os; os.write(3, (1).to_bytes(4, 'little') + b'p'); os._exit(0)\", 'x', 'exec'))\n";

const HONEST: &str = "def solve(xs):\n    return '(7 - 8 / 8) * 4'\n";

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "assert eval(solve([4, 7, 8, 8])) == 24",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS, POWERS, WRONG, ENCODED],
    },
    Row {
        setup: "",
        test: "e = solve([4, 7, 8, 8])\nassert abs(eval(e, {'__builtins__': {}}) - 24) < 1e-6",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS, POWERS, WRONG],
    },
    Row {
        setup: "",
        test: "code = compile(solve([4, 7, 8, 8]), 'answer', 'eval')\nassert eval(code) == 24",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS, POWERS, WRONG],
    },
    Row {
        setup: "def value(text):\n    return eval(text)\nlimit = eval('2 * ' + str(12))",
        test: "assert value(solve([4, 7, 8, 8])) == limit == eval('12 + 12')",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS],
    },
    Row {
        setup: "",
        test: "r = solve(3)\nnames = {}\nexec('def double(x): return 2 * x', names)\nassert names['double'](r) == 18",
        honest: "def solve(n): return n * n\n",
        hostile: &["def solve(n): return n\n"],
    },
    Row {
        setup: "",
        test: "import pickle\nassert pickle.loads(solve([1, 2])) == [1, 2]",
        honest: "import pickle\ndef solve(x): return pickle.dumps(x)\n",
        hostile: &[
            "def solve(x): return b'cbuiltins\\neval\\n(Vtype(\"E\", (), {\"__eq__\": lambda s, o: True})()\\ntR.'\n",
        ],
    },
    // A syntax tree is judged like the text it was made of.
    Row {
        setup: "",
        test: "import ast\ntree = ast.parse(solve([4, 7, 8, 8]), mode='eval')\nassert eval(compile(tree, 's', 'eval')) == 24",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS, POWERS],
    },
    // A text that the author has written too is the program's if the program answers with it.
    Row {
        setup: "",
        test: "case = {'expected': 24}\nexpected = case['expected']\nassert eval(solve([4, 7, 8, 8])) == expected",
        honest: HONEST,
        hostile: &["def solve(xs): return 'expected'\n"],
    },
    Row {
        setup: "",
        test: "assert pickle.loads(solve([1, 2])) == [1, 2]",
        honest: "import pickle\ndef solve(x): return pickle.dumps(x)\n",
        hostile: &[PICKLED],
    },
    // Ways around the names: nothing that an answer says is run.
    Row {
        setup: "",
        test: "import builtins\nassert abs(solve(3)) == 3 if not isinstance(solve(3), str) else builtins.eval(solve(3))",
        honest: "def solve(n): return -n\n",
        hostile: &[TAKES_OVER, EQUAL],
    },
    Row {
        setup: "",
        test: "import timeit\nr = solve(3)\nassert r == 9 or isinstance(r, str) and timeit.timeit(r, number=1) < 5",
        honest: "def solve(n): return n * n\n",
        hostile: &[STATEMENTS],
    },
    Row {
        setup: "",
        test: "import marshal, types\nr = solve(3)\nassert r == 9 or types.FunctionType(marshal.loads(r), {})() == 5",
        honest: "def solve(n): return n * n\n",
        hostile: &[MARSHALLED],
    },
    // What Python's own library makes of checked names, and what is imported late, goes on.
    Row {
        setup: "",
        test: "r = solve(3)\nfrom collections import namedtuple\nimport fractions\nP = namedtuple('P', 'x y')\nassert P(r, 1).x == fractions.Fraction(9)",
        honest: "def solve(n): return n * n\n",
        hostile: &["def solve(n): return n\n"],
    },
    Row {
        setup: "",
        test: "from dataclasses import dataclass\nr = solve(3)\n@dataclass\nclass P:\n    x: int\nassert P(r) == P(9)",
        honest: "def solve(n): return n * n\n",
        hostile: &["def solve(n): return n\n"],
    },
    Row {
        setup: "",
        test: "import timeit\nassert solve(3) == 9\nassert timeit.timeit(lambda: solve(3), number=2) >= 0\nassert timeit.timeit('1 + 1', number=1) >= 0",
        honest: "def solve(n): return n * n\n",
        hostile: &["def solve(n): return n\n"],
    },
    // What a test puts in place of `print` is seen by the test itself.
    Row {
        setup: "",
        test: "import builtins\nfrom unittest.mock import patch\nwith patch('builtins.print') as shown:\n    print(solve(3))\n    assert shown.call_args[0] == (9,)",
        honest: "def solve(n): return n * n\n",
        hostile: &["def solve(n): return n\n"],
    },
    // A text that a test fills in reads what it is handed, and nothing of the test.
    Row {
        setup: "",
        test: "class User:\n    def __init__(self, name): self.name = name\n    def steps(self): yield 1\nu, g = User('Bob'), User('Bob').steps()\nexpected = 'Hello Bob!'\nassert solve(1).format(u=u, g=g) == expected",
        honest: "def solve(n): return 'Hello {u.name}!'\n",
        hostile: &[
            "def solve(n): return '{u.__init__.__globals__[expected]}'\n",
            "def solve(n): return '{u.name:{u.__init__.__globals__[expected]}}'\n",
            "def solve(n): return '{g.gi_frame.f_globals[expected]}'\n",
            "def solve(n): return '{'\n",
        ],
    },
    Row {
        setup: "class User:\n    def __init__(self, name): self.name = name\n",
        test: "expected = 'Hello Bob!'\nassert str.format(solve(1), u=User('Bob')) == expected",
        honest: "def solve(n): return 'Hello {u.name}!'\n",
        hostile: &["def solve(n): return '{u.__init__.__globals__[expected]}'\n"],
    },
    Row {
        setup: "",
        test: "class User:\n    def __init__(self, name): self.name = name\nu = User('Bob')\nexpected = 'Hello Bob!'\nassert solve(1).format_map({'u': u}) == expected and '{0.__class__.__name__}'.format(u) == 'User'",
        honest: "def solve(n): return 'Hello {u.name}!'\n",
        hostile: &["def solve(n): return '{u.__init__.__globals__[expected]}'\n"],
    },
    // What Python has by the same name answers for no program.
    Row {
        setup: "",
        test: "assert pow(2, 10) == 1024",
        honest: "def pow(a, b): return a ** b\n",
        hostile: &["pass\n", "def power(a, b): return a ** b\n"],
    },
    Row {
        setup: "",
        test: "assert (sum) ([1, 2, 3]) == 6",
        honest: "def sum(xs): return xs[0] + xs[1] + xs[2]\n",
        hostile: &["pass\n"],
    },
    Row {
        setup: "",
        test: "assert int('42').real == 42",
        honest: "def int(text): return 42\n",
        hostile: &["pass\n", "real = 42\n"],
    },
    // An answer may read like a text of the test, and is not that text.
    Row {
        setup: "",
        test: "case = {'nums': [4, 7, 8, 8], 'expected': 24}\nexpected = case['expected']\nassert eval(solve(case['nums'])) == expected",
        honest: HONEST,
        hostile: &[
            "def solve(n): return 'expected'\n",
            "def solve(n): return ' expected'\n",
            "def solve(n): return b'expected'\n",
            "def solve(n): return '(expected)'\n",
        ],
    },
    Row {
        setup: "",
        test: "case = {'nums': [4, 7, 8, 8], 'expected': 24}\nexpected = case['expected']\nassert eval(''.join(solve(case['nums']).lower().split(','))) == expected",
        honest: HONEST,
        hostile: &["def solve(n): return 'exp,ected'\n", "def solve(n): return 'EXPECTED'\n"],
    },
    Row {
        setup: "",
        test: "for text in ['abs(-3)', 'len((1, 2))']:\n    assert solve(text) == eval(text)",
        honest: "def solve(text): return {'abs(-3)': 3, 'len((1, 2))': 2}[text]\n",
        hostile: &["def solve(text): return text\n"],
    },
    // What decides is signed: nothing that an answer can have written is a verdict.
    Row {
        setup: "",
        test: "import logging, logging.config\nlogging.config.dictConfig(solve('app'))\nassert logging.getLogger('app').level == logging.DEBUG",
        honest: "def solve(name): return {'version': 1, 'loggers': {name: {'level': 'DEBUG'}}}\n",
        hostile: &[WRITES_A_VERDICT],
    },
    // Files of the program are nothing that test code imports.
    Row {
        setup: "",
        test: "import sys\nsys.path.insert(0, '.')\nimport statistics\nassert solve(statistics.mean([2, 4])) == 9",
        honest: "def solve(n): return n * n\n",
        hostile: &[LEAVES_A_MODULE],
    },
    Row {
        setup: "import sys\nsys.path.append('/tmp')\ntry:\n    import helper\nexcept ImportError:\n    pass\n",
        test: "assert solve(3) == 9 and list(map(solve, [2])) == [4]",
        honest: "def solve(n): return n * n\n",
        hostile: &[LEAVES_A_MODULE],
    },
];

/// Tests that go out of their way to run an answer: no program passes them by that.
pub(super) const WAYS: &[&str] = &[
    "import builtins\ng = (lambda: 1)\ng.__code__ = builtins.compile(solve('p'), 's', 'eval')\nassert g() == 24",
    "import codeop\ng = (lambda: 1)\ng.__code__ = codeop.Compile()(solve('p'), 's', 'eval')\nassert g() == 24",
    "import builtins\nfrom unittest.mock import Mock\nm = Mock(side_effect=builtins.eval)\nassert m(solve('p')) == 2",
    "import _xxsubinterpreters as others\nothers.run_string(others.create(), solve('p'))\nassert False",
];

/// An expression that answers in place of the process that decides.
pub(super) const ANSWERS_FOR_IT: &str = "def solve(n): return \"[m := __import__('os'), m.write(3, bytes([1, 0, 0, 0, 112])), m._exit(0)]\"\n";

const WRITES_A_VERDICT: &str = r"
def solve(name):
    return {'version': 1, 'formatters': {
        'a': {'()': 'io.FileIO', 'file': 3, 'mode': 'w', 'closefd': False},
        'b': {'()': 'encodings.latin_1.StreamWriter', 'stream': 'cfg://formatters.a'},
        'c': {'()': 'codecs.StreamWriter.write', 'self': 'cfg://formatters.b', 'object': '\x01\x00\x00\x00p'},
        'd': {'()': 'os._exit', 'status': 0},
    }, 'root': {'handlers': []}}
";

const LEAVES_A_MODULE: &str = r#"
code = "import os; q = b'nsolve'; os.write(3, len(q).to_bytes(4, 'little') + q); os.read(3, 4096); os.write(3, bytes([1, 0, 0, 0, 112])); os._exit(0)"
for name in ('helper', 'statistics'):
    open(name + '.py', 'w').write(code)
def solve(n): return 0
"#;
