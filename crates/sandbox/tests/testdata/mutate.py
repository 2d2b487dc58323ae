"""Makes one small change to a program, as a careless programmer or a model in training would.

`mutant(source, rng)` returns the name of the change and the changed program, or `None` where the
drawn change does not fit. Operators are flipped, constants changed, comparisons negated, bounds
moved by one, statements and returns dropped, results given another type, and lines deleted from
the text whether Python then still parses it or not.
"""

import ast
import copy

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq, ast.Gt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot, ast.Eq),
    ast.IsNot: (ast.Is, ast.NotEq),
}
OPERATORS = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.FloorDiv),
    ast.Mult: (ast.Add, ast.Pow),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv, ast.Add),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitXor,),
    ast.BitXor: (ast.BitAnd,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}
# What a result is turned into: other types that are equal to it or only look so.
RESULTS = (
    "str({})", "list({})", "tuple({})", "set({})", "iter({})", "[{}]", "({},)", "float({})",
    "bool({})", "map(str, {})", "{{{}}}", "{{0: {}}}.values()", "{{{}: 0}}.keys()",
    "__import__('fractions').Fraction({})", "__import__('decimal').Decimal({})",
    "__import__('collections').deque({})", "__import__('collections').Counter({})",
    "(lambda: {})", "range({})", "bytearray({})", "complex({})", "reversed({})", "{} or None",
    "(yield {})", "print({})", "exit({})", "frozenset({})", "type('T', (int,), {{}})({})",
    "type('T', (list,), {{}})({})", "object()", "-{}", "not {}", "({}, {})", "[{}] * 2",
)


def operator(node, rng):
    node.op = rng.choice(OPERATORS[type(node.op)])()


def comparison(node, rng):
    node.ops[0] = rng.choice(COMPARISONS[type(node.ops[0])])()


def junction(node, _rng):
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()


def negation(node, _rng):
    node.test = ast.UnaryOp(ast.Not(), node.test)


def constant(node, rng):
    value = node.value
    if isinstance(value, bool):
        node.value = not value
    elif isinstance(value, int):
        node.value = rng.choice((value + 1, max(value - 1, 0), 0, value * 2, value + 0.5))
    elif isinstance(value, float):
        node.value = rng.choice((value + 1, value / 2, int(value)))
    elif isinstance(value, str):
        node.value = rng.choice((value + "x", value[1:], value.upper(), value + " "))


def off_by_one(node, rng):
    at = rng.randrange(len(node.args))
    by = rng.choice((ast.Add(), ast.Sub()))
    node.args[at] = ast.BinOp(node.args[at], by, ast.Constant(1))


def swapped(node, rng):
    at = rng.randrange(len(node.args) - 1)
    node.args[at], node.args[at + 1] = node.args[at + 1], node.args[at]


def index(node, rng):
    by = rng.choice((ast.Add(), ast.Sub()))
    node.slice = ast.BinOp(node.slice, by, ast.Constant(1))


def dropped(node, rng):
    node.body[rng.randrange(len(node.body))] = ast.Pass()


def no_return(node, rng):
    node.value = rng.choice((None, ast.Constant(None), ast.Constant(0)))


def result(node, rng):
    text = rng.choice(RESULTS).replace("{}", "({})").replace("({})", "({0})")
    text = text.replace("{{", "\0").replace("}}", "\1")
    text = text.replace("{0}", ast.unparse(node.value)).replace("\0", "{").replace("\1", "}")
    node.value = ast.parse(text, mode="eval").body


def is_call(node, least):
    return isinstance(node, ast.Call) and len(node.args) >= least


def is_plain(index):
    return not isinstance(index, (ast.Slice, ast.Tuple))


# Each change with the nodes that it fits.
CHANGES = (
    (operator, lambda node: type(getattr(node, "op", None)) in OPERATORS),
    (comparison, lambda node: isinstance(node, ast.Compare)),
    (junction, lambda node: isinstance(node, ast.BoolOp)),
    (negation, lambda node: isinstance(node, (ast.If, ast.While, ast.IfExp))),
    (constant, lambda node: isinstance(node, ast.Constant)),
    (off_by_one, lambda node: is_call(node, 1) and getattr(node.func, "id", "") == "range"),
    (swapped, lambda node: is_call(node, 2)),
    (index, lambda node: isinstance(node, ast.Subscript) and is_plain(node.slice)),
    (dropped, lambda node: isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If))),
    (no_return, lambda node: isinstance(node, ast.Return) and node.value),
    (result, lambda node: isinstance(node, ast.Return) and node.value),
)


def mutant(source, rng):
    if rng.random() < 0.08:
        return without_a_line(source, rng)
    tree = copy.deepcopy(ast.parse(source))
    change, fits = rng.choice(CHANGES)
    nodes = [node for node in ast.walk(tree) if fits(node)]
    if not nodes:
        return None
    change(rng.choice(nodes), rng)
    changed = ast.unparse(ast.fix_missing_locations(tree))
    if changed == ast.unparse(ast.parse(source)):
        return None
    return change.__name__, changed


def without_a_line(source, rng):
    lines = source.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "line", "".join(lines)
