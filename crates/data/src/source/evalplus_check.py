# Compares a program with EvalPlus' own solution on EvalPlus' inputs, by the rules of EvalPlus' judge.
# Lines above it define SOLUTION, ENTRY_POINT, TASK ("mbpp/2" or "humaneval/0"), TOLERANCE and INPUTS (JSON).
import copy as _copy
import json as _json
import math as _math


def _all(make):
    return lambda given: [make(value) for value in given]


def _first(make):
    return lambda given: [make(given[0]), *given[1:]]


def _second(make):
    return lambda given: [given[0], make(given[1]), *given[2:]]


def _tuples(values):
    return [tuple(value) for value in values]


def _tuple_of_tuples(values):
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def _nested(value):
    return tuple(_nested(part) for part in value) if isinstance(value, list) else value


def _sets(values):
    return [set(value) if isinstance(value, list) and value else {} for value in values]


def _values(table):
    return {key: tuple(value) for key, value in table.items()}


# JSON has lists alone: which arguments of which tasks of MBPP are something else.
_SHAPES = [
    ("2 116 132 143 222 261 273 394 399 421 424 429 470 560 579 596 616 630 726 740 744 809", _all(tuple)),
    ("63 64 70 94 120 237 272 299 400 409 417 438 473 614 780", _all(_tuples)),
    ("75 413 444 753", _first(_tuples)),
    ("106 750", _second(tuple)),
    ("115", _first(_sets)),
    ("124", lambda given: [float(given[0]), complex(given[1])]),
    ("250 307 405 446 617 720 763 808", _first(tuple)),
    ("259 278 401 445", _all(_tuple_of_tuples)),
    ("722", _first(_values)),
    ("252", _first(complex)),
    ("580 615 791", _all(_nested)),
]

_SAME_SET = "similar_elements find_char_long common_in_nested_lists extract_singly larg_nnum intersection_array find_dissimilar Diff"
_NOT_NONE = "check_str text_match_three text_starta_endb"


def _shaped(given):
    name, number = TASK.split("/")
    for numbers, shape in _SHAPES:
        if name == "mbpp" and number in numbers.split():
            return shape(given)
    return given


def _is_floats(value):
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and all(isinstance(part, float) for part in value)
    return isinstance(value, float)


def _close(answer, expected, tolerance):
    if isinstance(expected, (list, tuple)):
        pairs = zip(answer, expected)
        return len(answer) == len(expected) and all(_close(a, b, tolerance) for a, b in pairs)
    if answer == expected:
        return True
    if isinstance(answer, complex) or isinstance(expected, complex):
        return abs(answer - expected) <= tolerance + 1e-7 * abs(expected)
    return _math.isfinite(expected) and abs(answer - expected) <= tolerance + 1e-7 * abs(expected)


def _base_to_apex(base_edge, height):
    return round(base_edge**2 + 2 * base_edge * _math.sqrt((base_edge / 2) ** 2 + height**2))


def _digit_distance(one, other):
    width = max(len(str(one)), len(str(other)))
    digits = zip(str(one).zfill(width), str(other).zfill(width))
    return sum(abs(int(a) - int(b)) for a, b in digits)


def _accepted_by_rule(given, answer, expected):
    # None where the task has no rule of its own; some rules replace the comparison, and others add to it.
    if TASK.startswith("humaneval/"):
        if ENTRY_POINT == "find_zero":
            value = sum(factor * _math.pow(answer, power) for power, factor in enumerate(given[0]))
            return abs(value) <= TOLERANCE
        return None
    if ENTRY_POINT == "are_equivalent":
        return True
    if ENTRY_POINT == "sum_div":
        return True if answer == 0 else None
    if ENTRY_POINT == "surface_Area":
        return True if abs(answer - _base_to_apex(*given)) <= TOLERANCE else None
    if ENTRY_POINT == "digit_distance_nums":
        return True if answer == _digit_distance(*given) else None
    if ENTRY_POINT in _SAME_SET.split():
        return set(answer) == set(expected)
    if ENTRY_POINT in _NOT_NONE.split():
        wanted = expected is not None
        return answer == wanted if isinstance(answer, bool) else wanted == (answer is not None)
    return None


def _accepted(given, answer, expected):
    by_rule = _accepted_by_rule(given, answer, expected)
    if by_rule is not None:
        return by_rule
    if answer == expected:
        return True
    tolerance = 1e-6 if TOLERANCE == 0 and _is_floats(expected) else TOLERANCE
    return tolerance != 0 and type(answer) is type(expected) and _close(answer, expected, tolerance)


def check(candidate):
    space = {}
    exec(SOLUTION, space)
    for given in map(_shaped, _json.loads(INPUTS)):
        expected = space[ENTRY_POINT](*_copy.deepcopy(given))
        answer = candidate(*_copy.deepcopy(given))
        assert _accepted(given, answer, expected)
