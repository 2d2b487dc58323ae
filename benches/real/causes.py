"""Why two judges differ about one program.

A cause is looked for in a fixed order and only from evidence: what the program does with EvalPlus'
inputs, what the published tests say, and what each judge knows by the task's name.
"""

import contextlib
import copy
import io
import signal

import judges
from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS, MBPP_OUTPUT_SET_EQ_TASKS

SPECIAL = {"are_equivalent", "sum_div", "surface_Area", "digit_distance_nums", "find_zero"}


def cause(name, line, task, plus, verdicts):
    """The cause and its evidence; a cause that begins with `unexplained` is a bug of somebody."""
    late = [judge for judge, verdict in verdicts.items() if verdict and "time" in verdict]
    if late:
        return "a time limit", ", ".join(late)
    if name == "reply":
        return "extraction: whet finds another program in the reply", verdicts["reply"]
    if name == "evalplus":
        return of_evalplus(line, task, plus, verdicts)
    if verdicts["whet"] == "syntax_error" and is_body(line["program"], task):
        return "the body of a function alone: the prompt's head is put before it", verdicts[name]
    return "unexplained", f"whet says {verdicts['whet']}, {name} says {verdicts[name]}"


def is_body(program, task):
    """Whether a program is none by itself, but one behind HumanEval's prompt."""
    return task["set"] == "humaneval" and not compiles(program) and compiles(task["prompt"] + "\n" + program)


def compiles(text):
    try:
        compile(text, "program", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def of_evalplus(line, task, plus, verdicts):
    if (verdicts["whet"] == "pass") != (verdicts["published"] == "pass"):
        return "unexplained", f"whet says {verdicts['whet']}, the published tests say {verdicts['published']}"
    own = judges.published((plus["code"], task))
    if own != "pass":
        return "EvalPlus' own solution fails a published test", own
    entry = plus["entry_point"]
    problem = first_problem(line["program"], plus)
    if verdicts["whet"] == "pass":
        if problem is None:
            return "unexplained", "the program answers as EvalPlus expects"
        if "NameError" in problem and task["set"] == "humaneval":
            return "EvalPlus runs the program without the prompt's imports and helpers", problem
        return "EvalPlus expects what no published test asks for", problem
    if entry in SPECIAL or entry in MBPP_OUTPUT_NOT_NONE_TASKS or entry in MBPP_OUTPUT_SET_EQ_TASKS:
        return "EvalPlus has a rule of its own for this task, which accepts more", entry
    if problem is None or problem.startswith("float"):
        said = verdicts["published"].removeprefix("fail: ")
        return "a published test asks for more than EvalPlus' inputs", said
    return "unexplained", f"EvalPlus passes a program that {problem}"


class Late(Exception):
    """The program took too long."""


def late(*_):
    raise Late


def first_problem(program, plus):
    """The first input on which the program does not do what EvalPlus expects; in words."""
    signal.signal(signal.SIGALRM, late)
    space = {}
    try:
        with limited():
            exec(program, space)
            function = space[plus["entry_point"]]
    except BaseException as error:
        return f"{type(error).__name__} when it is loaded"
    for given, expected in zip(plus["inputs"], plus["expected"]):
        try:
            with limited():
                answer = function(*copy.deepcopy(given))
        except BaseException as error:
            return f"{type(error).__name__} for {short(given)}"
        if answer != expected:
            kind = "float " if isinstance(expected, float) else ""
            return f"{kind}answers {short(answer)} for {short(given)}, expected {short(expected)}"
    return None


@contextlib.contextmanager
def limited():
    signal.setitimer(signal.ITIMER_REAL, 5.0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def short(value):
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
