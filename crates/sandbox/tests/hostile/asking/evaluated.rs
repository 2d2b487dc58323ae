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

const HONEST: &str = "def solve(xs):\n    return '(7 - 8 / 8) * 4'\n";

pub(super) const ROWS: &[Row] = &[
    Row {
        setup: "",
        test: "assert eval(solve([4, 7, 8, 8])) == 24",
        honest: HONEST,
        hostile: &[EQUAL, TAKES_OVER, NAMELESS, POWERS, WRONG],
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
];
