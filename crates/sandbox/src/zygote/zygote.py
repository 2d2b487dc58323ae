"""The Python zygote and what its children do: a part of Whetstone's judge.

The zygote imports what programs commonly use, then waits in native code for orders. It never sees
a program. `whet_serve` returns in a child only, when the jail is shut: from there on everything in
this process may turn against us, so nothing here decides anything. A child computes values and
sends them; the supervisor compares.

Frames on the channel: four bytes of length, one of kind, the payload.
"""

import sys


def main(socket, proc_dir, library):
    import gc
    import os
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    warm()
    loader = ExtensionFileLoader("jail", library)
    serve = module_from_spec(spec_from_file_location("jail", library, loader=loader)).serve
    rehearse()
    kinds = children(os.read, os.write)
    # A program gets as many frames as it would have by itself: six are ours.
    sys.setrecursionlimit(sys.getrecursionlimit() + 6)
    sys.argv = ["solution.py"]
    sys.orig_argv = ["python3", "solution.py"]
    gc.collect()
    gc.freeze()
    kind = serve(socket, proc_dir)
    if kind < 0:
        os._exit(0)
    kinds[kind]()
    os._exit(0)


def warm():
    """Imports what programs use, so that each of them need not."""
    import builtins
    import importlib
    import os
    import warnings

    warnings.simplefilter("ignore")
    from _sitebuiltins import Quitter

    builtins.exit = Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = Quitter("quit", "Ctrl-D (i.e. EOF)")
    # What modules do after a fork is for processes with threads; here it would be the larger part
    # of a child's work, and would make `random` start anew.
    register, os.register_at_fork = os.register_at_fork, lambda **hooks: None
    for name in (
        "abc array bisect cmath collections copy datetime decimal enum fractions functools heapq "
        "io itertools json math operator os random re string threading time typing"
    ).split():
        importlib.import_module(name)
    os.register_at_fork = register
    share_semaphores()


def share_semaphores():
    """Makes the semaphores of `multiprocessing` ones of this process: pools of threads need them.

    Those of the C library are files in a folder that no program has; there is no other process to
    share them with either.
    """
    import threading

    try:
        import _multiprocessing
    except ImportError:
        return

    class SemLock:
        SEM_VALUE_MAX = 0x7FFFFFFF

        def __init__(self, kind, value, maxvalue, name, unlink):
            self.kind, self.maxvalue, self.name, self.handle = kind, maxvalue, None, 0
            self._free = threading.Semaphore(value)
            self._taken = self._owner = 0

        def acquire(self, block=True, timeout=None):
            if self.kind == 0 and self._is_mine():
                self._taken += 1
                return True
            timeout = max(timeout, 0) if block and timeout is not None else None
            if not self._free.acquire(block, timeout):
                return False
            self._taken += 1
            self._owner = threading.get_ident()
            return True

        def release(self):
            if self.kind == 0 and not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self.kind == 0 and self._taken > 1:
                self._taken -= 1
                return
            if self.kind != 0 and self._free._value >= self.maxvalue:
                raise ValueError("semaphore or lock released too many times")
            self._taken -= 1
            self._free.release()

        def __enter__(self):
            return self.acquire()

        def __exit__(self, *error):
            self.release()

        def _is_mine(self):
            return self._taken > 0 and self._owner == threading.get_ident()

        def _count(self):
            return self._taken

        def _get_value(self):
            return self._free._value

        def _is_zero(self):
            return self._free._value == 0

        def _after_fork(self):
            pass

    SemLock.__module__ = "_multiprocessing"
    SemLock.__qualname__ = "SemLock"
    _multiprocessing.SemLock = SemLock


def rehearse():
    """Judges a sample in this process, so that what an interpreter does at first use is done.

    Tables are filled, caches of attributes and of specialised instructions are warm, and none of
    it is done again, in pages of its own, by every child.
    """
    program = """
import re, math, collections
from typing import List, Dict

class Solution:
    total: int = 0

    def __init__(self, start=0):
        self.total = start

    def add(self, a, b):
        return self.total + a + b

def gather(words: List[str], limit=3, *rest, **named) -> Dict[str, int]:
    \"\"\"Counts words.\"\"\"
    counts = {}
    for at, word in enumerate(sorted(words, key=lambda word: (len(word), word))):
        if word not in counts and at % 2 == 0 or not word:
            counts[word] = counts.get(word, 0) + 1
        elif len(word) > limit:
            continue
        else:
            counts[word] = -1
    while limit > 0:
        limit -= 1
        try:
            counts.pop(limit)
        except (KeyError, TypeError) as error:
            text = f"{error!r:>5} {limit:.2f}".upper().split(" ")
            break
    squares = [x ** 2 for x in range(5) if x & 1]
    pairs = dict(zip(squares, map(str, squares)))
    found = re.findall(r"[a-z]+", " ".join(words))
    return {"words": counts, "set": set(squares), "t": (math.sqrt(4), max(squares), sum(squares)),
            "c": collections.Counter(found), "s": words[::-1], "p": pairs, "b": b"x", "n": None}
"""
    import marshal
    import sys

    table = [(-2, [(1,), (2,)]), (-2, [(3,)]), (-5, []), (0, [None])]
    questions = [
        (b"S", ("class Node:\n    def __init__(self, next=None):\n        self.next = next\n",)),
        (b"L", (program, "")),
        (b"V", "gather(['a', 'bc', 'def', 'a'], 2)"),
        (b"V", "(Solution(1).add(2, 3), 1.5, [1, 2], 'text', True)"),
        (b"V", "gather(None)"),
        (b"V", "missing(1)"),
        (b"V", "object()"),
        (b"T", "gather(['a'])"),
        (b"C", ("Solution.add", [1, 2], [])),
        (b"N", "gather"),
        (b"P", ("Solution.add", [1, 2], [], None, "value", 1)),
        (b"P", ("gather", [["a", "b"]], [], None, "value", 1)),
        (b"P", ("Node", None, None, ([["Node", "next"]], table, (0,)), "value", 1)),
    ]

    def frame(kind, content):
        if kind in (b"S", b"L"):
            parts = [text.encode() for text in content]
            content = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
        else:
            content = content.encode() if isinstance(content, str) else marshal.dumps(content, 2)
        return (len(content) + 1).to_bytes(4, "little") + kind + content

    class Over(BaseException):
        pass

    modules = dict(sys.modules)
    for _ in range(16):
        frames = [frame(*question) for question in questions]

        def read(channel, size):
            if not frames:
                raise Over
            return frames.pop(0)

        try:
            children(read, lambda channel, data: len(data))[1]()
        except Over:
            pass
    sys.modules.clear()
    sys.modules.update(modules)


def children(read, write):
    """Returns what children run, by their kinds; all that it needs is bound here, in advance."""
    import atexit
    import builtins
    import datetime as dates
    import marshal
    import operator
    import os
    import random
    import sys
    import threading
    import types
    import _ast as syntax
    from _string import formatter_field_name_split, formatter_parser
    from abc import ABC, ABCMeta
    from array import array
    from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
    from decimal import Decimal
    from enum import Enum, Flag
    from fractions import Fraction
    from itertools import islice

    leave = os._exit
    built_in = frozenset(vars(builtins))
    dumps, loads = marshal.dumps, marshal.loads
    compile_, exec_, eval_ = compile, exec, eval
    size_limit = 1 << 20
    views = (type({}.keys()), type({}.items()))
    dict_values = type({}.values())
    items_limit = 10_000
    nodes_limit = 30_000
    # Bytes of a test's questions and answers that are kept for its second run.
    answers_limit = 32 << 20
    atoms = frozenset([int, float, bool, str, bytes, complex, type(None), type(...)])
    slot = types.MemberDescriptorType
    predicates = frozenset(
        name for kind in (str, bytes, set) for name in dir(kind)
        if name.startswith(("is", "starts", "ends"))
    )
    # Methods of text and of sets by which they are compared with an argument.
    comparing = frozenset(
        "count find index lstrip partition removeprefix removesuffix replace rfind rindex rpartition "
        "rsplit rstrip split strip difference difference_update intersection intersection_update "
        "symmetric_difference symmetric_difference_update union".split()
    )
    numbers = (int, float, bool, type(None))
    # What test code may do with an object of the program, beside attributes and methods.
    operations = {
        "__len__": len,
        "__bool__": bool,
        "__iter__": iter,
        "__str__": str,
        "__repr__": repr,
        "__getitem__": operator.getitem,
        "__add__": operator.add,
        "__sub__": operator.sub,
        "__mul__": operator.mul,
        "__truediv__": operator.truediv,
        "__floordiv__": operator.floordiv,
        "__mod__": operator.mod,
        "__matmul__": operator.matmul,
        "__and__": operator.and_,
        "__or__": operator.or_,
        "__xor__": operator.xor,
        "__lshift__": operator.lshift,
        "__rshift__": operator.rshift,
        "__pow__": operator.pow,
        "__iadd__": operator.iadd,
        "__isub__": operator.isub,
        "__imul__": operator.imul,
        "__itruediv__": operator.itruediv,
        "__ifloordiv__": operator.ifloordiv,
        "__imod__": operator.imod,
        "__imatmul__": operator.imatmul,
        "__iand__": operator.iand,
        "__ior__": operator.ior,
        "__ixor__": operator.ixor,
        "__ilshift__": operator.ilshift,
        "__irshift__": operator.irshift,
        "__ipow__": operator.ipow,
        "__neg__": operator.neg,
        "__pos__": operator.pos,
        "__invert__": operator.invert,
        "__next__": next,
        "__reversed__": reversed,
        "__dir__": dir,
        "__delattr__": delattr,
        "__setitem__": operator.setitem,
        "__delitem__": operator.delitem,
        "__enter__": lambda value: type(value).__enter__(value),
        "__exit__": lambda value, name: type(value).__exit__(value, *raised_there(name)),
        "__instancecheck__": isinstance,
        "__subclasscheck__": lambda kind, other: issubclass(other, kind),
    }
    # Methods that Python itself looks for in an object's class: what stands for an object has those
    # alone that the object has.
    binary = "add sub mul truediv floordiv mod matmul and or xor lshift rshift pow divmod".split()
    specials = frozenset(
        f"__{name}__" for name in (
            "len length_hint bool iter next reversed contains getitem setitem delitem missing call "
            "enter exit aenter aexit aiter anext await str repr bytes format hash eq ne lt le gt ge "
            "int float complex index round trunc floor ceil abs neg pos invert copy deepcopy get set "
            "delete set_name fspath buffer sizeof reduce reduce_ex getstate getnewargs "
            "getnewargs_ex instancecheck subclasscheck getattr getattribute setattr delattr dir init "
            "new del init_subclass class_getitem subclasshook"
        ).split() + [side + name for side in ("", "r", "i") for name in binary]
    )
    # Classes of Python that one of the program's may be derived from, and what stands for it as well.
    foundations = {"object": object, "ABC": ABC}
    for error in list(vars(builtins).values()):
        endings = (StopIteration, StopAsyncIteration, GeneratorExit)
        endings += (getattr(builtins, "BaseExceptionGroup", GeneratorExit),)
        if isinstance(error, type) and issubclass(error, BaseException):
            if not issubclass(error, endings):
                foundations[error.__name__] = error
    told_limit = 4096

    def raised_there(name):
        """What a `with` block that test code has left by an exception of this name says of it."""
        kind = getattr(builtins, name or "", None)
        return (None, None, None) if kind is None else (kind, kind.__new__(kind), None)

    def offset(zone):
        """Seconds from UTC, of a time zone that is no more than that."""
        if zone is not None and type(zone) is not dates.timezone:
            raise TypeError
        return None if zone is None else zone.utcoffset(None).total_seconds()

    def zone(seconds):
        return None if seconds is None else dates.timezone(dates.timedelta(seconds=seconds))

    def clock(value):
        return [value.hour, value.minute, value.second, value.microsecond]

    # By its class, how a value that is no plain data is told: which of `makers` makes it again, and
    # from what.
    recipes = {
        range: lambda value: ("range", [value.start, value.stop, value.step]),
        slice: lambda value: ("slice", [value.start, value.stop, value.step]),
        Fraction: lambda value: ("Fraction", [value.numerator, value.denominator]),
        Decimal: lambda value: ("Decimal", [str(value)]),
        array: lambda value: ("array", [value.typecode, list(value)]),
        bytearray: lambda value: ("bytearray", [bytes(value)]),
        dates.date: lambda value: ("date", [value.year, value.month, value.day]),
        dates.timedelta: lambda value: ("timedelta", [value.days, value.seconds, value.microseconds]),
        dates.time: lambda value: ("time", [clock(value), value.fold, offset(value.tzinfo)]),
        dates.datetime: lambda value: ("datetime", [
            [value.year, value.month, value.day] + clock(value), value.fold, offset(value.tzinfo),
        ]),
    }
    makers = {
        "array": array,
        "bytearray": bytearray,
        "date": dates.date,
        "timedelta": dates.timedelta,
        "time": lambda parts, fold, utc: dates.time(*parts, zone(utc), fold=fold),
        "datetime": lambda parts, fold, utc: dates.datetime(*parts, zone(utc), fold=fold),
        "iter": iter,
        "keys": lambda items: dict.fromkeys(items).keys(),
        "items": lambda pairs: dict(pairs).items(),
        "values": lambda items: dict(enumerate(items)).values(),
        "range": range,
        "slice": slice,
        "deque": deque,
        "Fraction": Fraction,
        "Decimal": Decimal,
    }

    # Dicts that are more than a dict, and what a `defaultdict` may make.
    dicts = {"Counter": Counter, "OrderedDict": OrderedDict, "defaultdict": defaultdict}
    factories = (int, float, bool, str, list, dict, set, tuple, type(None))
    # Types that a class of a setup may be derived from, and their values as exactly these.
    bases = {
        str: str.__str__,
        int: lambda value: int.__add__(value, 0),
        float: lambda value: float.__mul__(value, 1.0),
        bytes: lambda value: bytes.__getitem__(value, slice(None)),
        tuple: lambda value: tuple(tuple.__iter__(value)),
        list: lambda value: list(list.__iter__(value)),
        dict: lambda value: dict(dict.items(value)),
        set: lambda value: set(set.__iter__(value)),
        frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    }

    named_bases = {base.__name__: base for base in bases}
    fillers = {"list": list.extend, "dict": dict.update, "set": set.update}

    def receive():
        data = read(3, 4096)
        while len(data) < 5:
            more = read(3, 4096)
            if not more:
                leave(0)
            data += more
        length = 4 + int.from_bytes(data[:4], "little")
        while len(data) < length:
            more = read(3, 1 << 20)
            if not more:
                leave(0)
            data += more
        return data[4:5], data[5:length]

    def send(kind, payload=b""):
        data = (len(payload) + 1).to_bytes(4, "little") + kind + payload
        while data:
            data = data[write(3, data):]

    def plain(value, depth=0):
        """The same value as exact builtin data, by the builtin types' own methods."""
        kind = type(value)
        if kind in (int, float, bool, str, bytes, complex) or value is None or value is ...:
            return value
        if depth > 70:
            raise ValueError
        depth += 1
        if issubclass(kind, str):
            return str.__str__(value)
        if issubclass(kind, int):
            return int.__add__(value, 0)
        if issubclass(kind, float):
            return float.__mul__(value, 1.0)
        if issubclass(kind, tuple):
            return tuple([plain(item, depth) for item in tuple.__iter__(value)])
        if issubclass(kind, list):
            return [plain(item, depth) for item in list.__iter__(value)]
        if issubclass(kind, dict):
            return {plain(key, depth): plain(item, depth) for key, item in dict.items(value)}
        if issubclass(kind, set):
            return {plain(item, depth) for item in set.__iter__(value)}
        if issubclass(kind, frozenset):
            return frozenset([plain(item, depth) for item in frozenset.__iter__(value)])
        if issubclass(kind, bytes):
            return bytes.__getitem__(value, slice(None))
        if kind is bytearray or kind is memoryview and value.format == "B" and value.ndim == 1:
            return bytes(value)
        if issubclass(kind, complex):
            return complex.__add__(value, 0)
        if kind in views:
            return {plain(item, depth) for item in value}
        if issubclass(kind, (Fraction, Decimal)):
            # As the number that equals it: if there is none, no literal does.
            for number in (int, float):
                try:
                    if number(value) == value:
                        return number(value)
                except (OverflowError, ValueError):
                    pass
        raise TypeError

    def encode(value, keeps_names=False):
        try:
            data = dumps(value, 2)
        except ValueError:
            if keeps_names and has_name(value):
                raise
            return dumps(plain(value), 2)
        # `marshal` writes every buffer as bytes, which an `array` or a `mmap` does not equal: where
        # there may be one, each value is looked at.
        if b"s" not in data or len(data) > size_limit:
            return data
        if keeps_names and has_name(value):
            raise ValueError
        return dumps(plain(value), 2)

    def respond(make, *args):
        """Sends what is made of these arguments, if it is plain data."""
        try:
            data = make(*args)
        except MemoryError:
            return send(b"e", b"MemoryError")
        except BaseException:
            return send(b"o")
        send(b"v", data) if len(data) <= size_limit else send(b"o")

    def outlined(value, may_hold=False):
        """A value for a checker: which of `makers` makes it again, if any, and from what.

        `may_hold`: an object of a class of the program's own is asked for its items by the test.
        """
        kind = type(value)
        if kind in recipes:
            return recipes[kind](value)
        if kind is deque:
            return "deque", [list(value)]
        if kind is dict_values:
            return "values", [list(value)]
        if kind in views:
            return "keys" if kind is views[0] else "items", [list(value)]
        is_held = may_hold and kind.__module__ == "solution"
        if hasattr(kind, "__next__") and hasattr(kind, "__iter__") and not is_held:
            items = list(islice(value, items_limit + 1))
            return "iter", [items if len(items) <= items_limit else value]
        return "", value

    def named(kind, classes):
        """The name of the setup's class that a class is, or is derived from."""
        for base in kind.__mro__:
            if base.__name__ in classes:
                return base.__name__
        raise TypeError

    def derived(kind, classes):
        """The type of Python that a class of the setup's is derived from, and that one's name."""
        found = [base for base in (*bases, BaseException) if issubclass(kind, base)]
        known = [base.__name__ for base in kind.__mro__ if base.__name__ in classes]
        return (found[0], known[0]) if found and known else None

    def has_fields(kind, classes):
        """Whether this is the class of a named tuple of the setup's."""
        return hasattr(kind, "_fields") and any(base.__name__ in classes for base in kind.__mro__)

    def is_named_tuple(kind):
        """Whether a class is one of tuples whose elements have names."""
        return issubclass(kind, tuple) and type(getattr(kind, "_fields", None)) is tuple

    def has_name(value, depth=0):
        """Whether there is something in plain data whose class `plain` would forget: a named tuple, an
        object of a class of the setup's, a `Counter`, a `bytearray`."""
        kind = type(value)
        if kind in atoms or depth > 70:
            return False
        if is_named_tuple(kind) or kind is bytearray or kind in dicts.values():
            return True
        if not setup_names.isdisjoint([base.__name__ for base in kind.__mro__]):
            return True
        if issubclass(kind, (list, tuple, set, frozenset)):
            return any([has_name(one, depth + 1) for one in value])
        if issubclass(kind, dict):
            pairs = dict.items(value)
            return any([has_name(one, depth + 1) for pair in pairs for one in pair])
        return False

    # The names of the classes that the setup has defined.
    setup_names = set()

    def named_tuple(names):
        """The class of a named tuple: its own name, and those of its elements."""
        key = tuple(names)
        if len(key) > 256:
            raise ValueError
        if key not in named_tuples:
            named_tuples[key] = namedtuple(names[0], names[1:])
        return named_tuples[key]

    named_tuples = {}

    def attributes(value, own):
        """An object's attributes; of a class that is not the setup's own, properties too."""
        names = dict.fromkeys(getattr(value, "__dict__", ()))
        for base in type(value).__mro__:
            for name, item in base.__dict__.items():
                if type(item) is slot or type(item) is property and not own:
                    names[name] = None
        found = {}
        for name in names:
            if type(name) is str and not name.startswith("__"):
                try:
                    found[name] = getattr(value, name)
                except AttributeError:
                    pass
        return found

    def mutables(roots):
        """The lists, dicts and sets in plain data, always in the same order, and whether one of them is
        there twice. Raises where there is anything else, or too much."""
        found, places, is_twice = [], set(), False
        queue = list(roots)
        for value in queue:
            kind = type(value)
            if kind in (list, dict, set):
                if id(value) in places:
                    is_twice = True
                    continue
                places.add(id(value))
                found.append(value)
            elif kind not in (tuple, frozenset):
                if kind in atoms:
                    continue
                raise TypeError
            inside = value.values() if kind is dict else value
            if kind in (list, dict, tuple) and not atoms.issuperset(map(type, inside)):
                queue.extend(inside)
            if len(queue) > nodes_limit:
                raise ValueError
        return found, is_twice

    def of_rows(graph, items):
        """The objects of a table's rows that can be changed, each in the place of its row."""
        fixed = (Enum, tuple)
        found = []
        for (what, _), item in zip(graph[1], items):
            is_one = what in (-1, -3, -5, -6) or what >= 0 and not isinstance(item, fixed)
            found.append(item if is_one else None)
        return found

    class Ledger:
        """The objects of one test that a program and its checker both have, by number.

        So an answer can say that it is, or holds, an object that the test has given to the program or
        has got from it: `def copy(x): return x`.
        """

        def __init__(self):
            self.test, self.count, self.numbers, self.kept = None, 0, {}, {}

        def begin(self, test):
            if test != self.test:
                self.__init__()
                self.test = test

        def enter(self, objects):
            """Numbers objects that the other side gets, or has sent; the first one's number."""
            start = self.count
            if start + len(objects) > nodes_limit:
                return None
            self.count += len(objects)
            for at, value in enumerate(objects, start):
                if value is not None and id(value) not in self.numbers:
                    self.numbers[id(value)] = at
                    self.kept[at] = value, self.content(value)
            return start

        def content(self, value):
            if isinstance(value, (list, deque)):
                return list(value)
            if isinstance(value, dict):
                return [*dict.keys(value), *dict.values(value)]
            return set(value) if isinstance(value, set) else attributes(value, True)

        def tell(self, objects):
            """The other side knows what has become of these."""
            for value in objects:
                at = self.numbers.get(id(value))
                if at is not None:
                    self.kept[at] = value, self.content(value)

        def intact(self):
            """By their ids, the objects that are, with all in them, as the other side knows them."""
            above, changed = {}, []
            for value, old in self.kept.values():
                now = self.content(value)
                # What the program has added to an object does not make it another.
                if type(old) is dict:
                    old, now = list(old.values()), [now.get(name, self) for name in old]
                is_same = old == now if type(old) is set else len(old) == len(now) and all(
                    [a is b or type(a) in atoms and type(a) is type(b) and a == b
                     for a, b in zip(old, now)]
                )
                if not is_same:
                    changed.append(id(value))
                inside = [one for one in old if type(one) not in atoms]
                for one in inside:
                    above.setdefault(id(one), []).append(id(value))
                    if type(one) is tuple:
                        inside.extend([part for part in one if type(part) not in atoms])
            for one in changed:
                changed.extend(above.pop(one, ()))
            return self.numbers.keys() - set(changed)

        def finder(self):
            """A function for the numbers of such objects, as long as nothing changes."""
            intact = None

            def number(value):
                nonlocal intact
                at = self.numbers.get(id(value))
                if at is not None and intact is None:
                    intact = self.intact()
                return at if at is not None and id(value) in intact else None

            return number

    def pack(root, classes, known=(), kept={}, is_answer=False, number=None):
        """A value with objects of the setup's classes in it, as a flat table of plain data.

        One row for each object: a number for what it is, and its parts, which are plain or, in a
        tuple of one, the number of another row. So lists of any length are no deeper than others,
        and what is shared, or leads back to itself, stays so. `known` has the objects whose rows
        come first, `kept` rows that stay as they are. In an answer, an attribute of an object may
        be of a class of the program's own: its row says no more than that there is something.
        `number` knows the objects that the other side has. Returns the table and its rows' objects.
        """
        items = list(known)
        places = {id(item): at for at, item in enumerate(items)}
        shapes, shapes_at, rows = [], {}, []
        may_be_own = set()

        def part(value):
            if type(value) in atoms:
                return value
            at = places.setdefault(id(value), len(items))
            if at == len(items):
                if at >= nodes_limit:
                    raise ValueError
                items.append(value)
            return (at,)

        def row(value):
            kind = type(value)
            if number is not None and (at := number(value)) is not None:
                return -12, [at]
            if roles["path"] is not None and (path := roles["path"](value)) is not None:
                return -8, [path]
            if kind in recipes:
                return -9, list(recipes[kind](value))
            if issubclass(kind, Enum):
                # Flags that are put together may have no name.
                shape, parts = (named(kind, classes),), [value._value_ if issubclass(kind, Flag) else value.name]
            elif issubclass(kind, tuple) and has_fields(kind, classes):
                shape, parts = (named(kind, classes), ""), [part(one) for one in value]
            elif is_named_tuple(kind) and len(kind._fields) == tuple.__len__(value):
                names = [kind.__name__, *kind._fields]
                return -11, [names, *[part(one) for one in tuple.__iter__(value)]]
            elif kind in dicts.values():
                make = getattr(value, "default_factory", None)
                makes = factories.index(make) if make in factories else None if make else -1
                inside = [part(one) for pair in dict.items(value) for one in pair]
                return -13, [kind.__name__, makes, *inside]
            elif foundations.get(kind.__name__) is kind and issubclass(kind, BaseException):
                return -15, [kind.__name__, *[part(one) for one in value.args]]
            elif derived(kind, classes) is not None:
                base, name = derived(kind, classes)
                found = attributes(value, classes[name] is kind)
                shape = (name, base.__name__, *found)
                root = bases[base](value) if base in bases else value.args
                at = shapes_at.setdefault(shape, len(shapes))
                if at == len(shapes):
                    shapes.append(list(shape))
                return -14, [at, part(root), *[part(one) for one in found.values()]]
            elif issubclass(kind, tuple):
                return -2, [part(one) for one in tuple.__iter__(value)]
            elif issubclass(kind, list):
                return -1, [part(one) for one in list.__iter__(value)]
            elif issubclass(kind, dict):
                return -5, [part(one) for pair in dict.items(value) for one in pair]
            elif issubclass(kind, set):
                return -3, [part(one) for one in set.__iter__(value)]
            elif issubclass(kind, frozenset):
                return -4, [part(one) for one in frozenset.__iter__(value)]
            elif kind is deque:
                return -6, [part(one) for one in value]
            else:
                try:
                    name = named(kind, classes)
                except TypeError:
                    try:
                        return -7, [plain(value)]
                    except TypeError:
                        if is_answer and id(value) in may_be_own:
                            return -10, []
                        raise
                found = attributes(value, classes[name] is kind)
                shape, parts = (name, *found), [part(one) for one in found.values()]
                may_be_own.update(map(id, found.values()))
            at = shapes_at.setdefault(shape, len(shapes))
            if at == len(shapes):
                shapes.append(list(shape))
            return at, parts

        top = part(root)
        while len(rows) < len(items):
            at = len(rows)
            rows.append(kept[at] if at in kept else row(items[at]))
        return (shapes, rows, top), items

    def unpack(graph, classes, known=(), refer=None, inert=None, numbered=None):
        """The value that a table stands for, and the objects of its rows.

        The objects in `known` are the first rows' and get the content that those have now. No
        method of a class is called but those by which sets and dicts find their elements. `inert`
        makes what stands for an object of the program's own.
        """
        shapes, rows, top = graph
        items = list(known) + [None] * (len(rows) - len(known))
        empty = {-1: list, -3: set, -5: dict, -6: deque}
        for at in range(len(known), len(rows)):
            what, parts = rows[at]
            if what in empty:
                items[at] = empty[what]()
            elif what == -7:
                items[at] = parts[0]
            elif what == -8:
                items[at] = refer(parts[0])
            elif what == -9:
                items[at] = makers[parts[0]](*parts[1])
            elif what == -10:
                items[at] = inert()
            elif what == -12:
                items[at] = numbered(parts[0])
            elif what == -13:
                makes = roles["refuse"] if parts[1] is None else factories[parts[1]]
                is_default = parts[0] == "defaultdict"
                makes = None if parts[1] == -1 else makes
                items[at] = defaultdict(makes) if is_default else dicts[parts[0]]()
            elif what == -14:
                name, base, *_ = shapes[parts[0]]
                if not issubclass(classes[name], {**named_bases, "BaseException": BaseException}[base]):
                    raise ValueError
                if base in fillers:
                    items[at] = named_bases[base].__new__(classes[name])
            elif what >= 0:
                kind = classes[shapes[what][0]]
                if issubclass(kind, Enum):
                    items[at] = kind(parts[0]) if issubclass(kind, Flag) else kind[parts[0]]
                elif not issubclass(kind, tuple):
                    items[at] = object.__new__(kind)

        def part(cell, depth=0):
            """What a part stands for; tuples are made when they are needed."""
            if type(cell) is not tuple:
                return cell
            at = cell[0]
            what, parts = rows[at]
            if items[at] is None and (what in (-2, -4, -11, -14, -15) or what >= 0):
                if depth > 70:
                    raise ValueError
                made = [part(one, depth + 1) for one in parts]
                if what == -11:
                    items[at] = named_tuple(made[0])._make(made[1:])
                elif what == -15:
                    kind = foundations[made[0]]
                    items[at] = kind.__new__(kind, *made[1:]) if issubclass(kind, BaseException) else None
                elif what == -14:
                    name, base, *_ = shapes[parts[0]]
                    kind, value = named_bases.get(base, BaseException), made[1]
                    given = value if kind is BaseException else [value]
                    items[at] = kind.__new__(classes[name], *given)
                elif what >= 0:
                    items[at] = tuple.__new__(classes[shapes[what][0]], made)
                else:
                    items[at] = tuple(made) if what == -2 else frozenset(made)
            return items[at]

        for at, (what, parts) in enumerate(rows):
            item, made = items[at], None
            if what in (-1, -6):
                item.clear()
                item.extend([part(one) for one in parts])
            elif what >= 0 and item is not None and not isinstance(item, (Enum, tuple)):
                names = shapes[what][1:]
                old = getattr(item, "__dict__", {})
                for name in [name for name in old if name not in names]:
                    del old[name]
                for name, one in zip(names, parts):
                    if name.startswith("__"):
                        raise ValueError
                    try:
                        object.__setattr__(item, name, part(one))
                    except AttributeError:
                        pass
        for at, (what, parts) in enumerate(rows):
            if what == -13:
                made = [part(one) for one in parts[2:]]
                items[at].clear()
                # A `Counter` would count the pairs.
                update = OrderedDict.update if parts[0] == "OrderedDict" else dict.update
                update(items[at], zip(made[::2], made[1::2]))
            elif what == -3:
                items[at].clear()
                items[at].update([part(one) for one in parts])
            elif what == -5:
                made = [part(one) for one in parts]
                items[at].clear()
                items[at].update(zip(made[::2], made[1::2]))
        for at, (what, parts) in enumerate(rows):
            if what == -14:
                item, (_, base, *names) = part((at,)), shapes[parts[0]]
                if base in fillers:
                    named_bases[base].clear(item)
                    fillers[base](item, part(parts[1]))
                for name, one in zip(names, parts[2:]):
                    if name.startswith("__"):
                        raise ValueError
                    try:
                        object.__setattr__(item, name, part(one))
                    except AttributeError:
                        pass
        return part(top), items

    def setup_classes(namespace):
        """The classes that a setup has defined."""
        name = namespace["__name__"]
        found = [item for item in namespace.values() if isinstance(item, type)]
        return {item.__name__: item for item in found if item.__module__ == name}

    def hold(held, value):
        """The text by which a checker finds an object that stays with the program."""
        if len(held) >= items_limit:
            raise ValueError
        held[id(value)] = value
        return f"#{id(value)}"

    def makes_objects(owner):
        """Whether functions of this class may return objects that stay here: `Vec.zero()`.

        A method of `Solution` is a function that is asked for, and answers with data.
        """
        return owner[:1].isupper() and owner.isidentifier() and owner != "Solution"

    # In a checker, the text to find an object with that a value stands for.
    roles = {"path": None, "refuse": None}

    def declared(kind):
        """The special methods that a class has of its own, and those that it says it has not."""
        own = [name for name in kind.__dict__ if name in specials]
        return own, [name for name in own if kind.__dict__[name] is None]

    def profile(kind, setup, held):
        """A class of the program's as a checker makes one that stands for it: how it is found, its
        name, its special methods and those of its own class, and what it is derived from.

        One that is derived from more of Python than exceptions is none of these.
        """
        if foundations.get(kind.__name__) is kind:
            return kind.__name__
        own_kind = type(kind).__mro__[:-len(type.__mro__)]
        is_ours = kind.__module__ == "solution" and kind.__name__ not in setup
        if not is_ours or any(base.__module__ not in ("solution", "abc") for base in own_kind):
            raise TypeError
        meta = [name for base in own_kind if base is not ABCMeta for name in declared(base)[0]]
        bases = [profile(base, setup, held) for base in kind.__bases__]
        return hold(held, kind), kind.__name__, *declared(kind), meta, bases

    def holding(value, setup, held):
        """An object that stays with the program: how it is found, and what its class is like."""
        kind = type(value)
        try:
            made = profile(kind, setup, held)
        except TypeError:
            made = None
        if type(made) is not tuple:
            found = {name: base for base in kind.__mro__[-2::-1] for name in declared(base)[0]}
            made = list(found), [name for name, base in found.items() if base.__dict__[name] is None]
        return hold(held, value), made

    def called(namespace, setup, held, ledger, payload):
        """Calls the program for a checker.

        Returns a function that says what came of it: the value, and the arguments if the program
        has changed them and the checker needs them.
        """
        entry_point, args, kwargs, graph, wants, test = loads(payload)
        ledger.begin(test)
        is_dropped = wants == "changes"
        refer = lambda path: look_up(namespace, path, held)
        owner, _, last = entry_point.rpartition(".")
        is_operation = entry_point[:1] == "#" and last in operations
        if graph is None:
            before, items = dumps((args, kwargs), 2), ()
            named_args = dict(kwargs)
        else:
            # A class that the program has defined anew is what its own code expects.
            ours = dict(setup)
            for name in setup:
                if isinstance(namespace.get(name), type):
                    ours[name] = namespace[name]
            root, items = unpack(graph, ours, (), refer)
            args, named_args = root
        given = arguments(args, named_args) if graph is None else of_rows(graph, items)
        args_at = ledger.enter(given)
        if entry_point.endswith("="):
            target, _, name = entry_point[:-1].rpartition(".")
            target = refer(target)
            found = lambda value: setattr(target, name, value)
        elif is_operation:
            target, operation = refer(owner), operations[last]
            found = lambda *args: operation(target, *args)
        else:
            is_method = args and type(args[0]) not in atoms and owner and owner[0] != "#"
            found = unbound(refer(owner), last, args) if is_method else None
            if found is None:
                found = refer(entry_point)
        value = found(*args, **named_args)
        # An object of a class of the program's own stays here, if the test can know that it is one:
        # by its name, as it calls it, or because another one or its class made it.
        is_class = isinstance(found, type) and last[:1].isupper()
        may_hold = is_class or entry_point[:1] == "#" or makes_objects(owner)
        # What is not used is nobody's business: often it is the object that was changed.
        maker, made = ("", None) if is_dropped else outlined(value, may_hold)

        def changes():
            if graph is not None:
                kept = {at: row for at, row in enumerate(graph[1]) if row[0] == -8}
                now, _ = pack(root, setup, items, kept, True)
                return None if now[:2] == graph[:2] else (None, None, now)
            try:
                now = encode((args, kwargs))
                return None if now == before else (args, kwargs, None)
            except (TypeError, ValueError):
                return None, None, pack((args, named_args), setup, is_answer=True)[0]

        def result():
            # Where a test uses the value, what the program did to its arguments is not told: the
            # test may still compare the value with them.
            is_wanted = is_dropped or wants == "changes if nothing" and value is None
            changed = changes() if is_wanted else None
            if is_wanted:
                ledger.tell(given)
            return answered(changed)

        def sent(maker, made, value):
            """A value as the checker can make it again, or can ask for more of it."""
            try:
                encode((maker, made), keeps_names=True)
                return maker, made
            except (TypeError, ValueError):
                pass
            # One that has no end in sight is no list.
            if maker == "iter" and type(made[0]) is list:
                return "nodes", [sent("", one, one) for one in made[0]]
            try:
                table, rows = pack(value, setup, is_answer=True, number=ledger.finder())
                encode(table)
                new.extend(of_rows(table, rows))
                return "graph", table
            except (TypeError, ValueError):
                if not may_hold:
                    return maker, made
            return "held", holding(value, setup, held)

        # The objects of the answer that the checker will have as well.
        new, is_numbered = [], True

        def is_shared():
            """Whether an object is in the value twice, or is one that the checker has."""
            nonlocal is_numbered
            is_numbered = False
            found, is_twice = mutables([value])
            is_numbered = True
            if is_twice or any([id(one) in ledger.numbers for one in found]):
                return True
            new.extend(found)
            return False

        def answered(changed):
            if maker == "" and type(value) not in atoms and not is_dropped:
                try:
                    if is_shared():
                        table, rows = pack(value, setup, is_answer=True, number=ledger.finder())
                        start = ledger.enter(of_rows(table, rows))
                        return encode(("graph", table, (changed, args_at, start)))
                except (TypeError, ValueError):
                    pass
            try:
                start = ledger.enter(new) if is_numbered else None
                return encode((maker, made, (changed, args_at, start)), keeps_names=True)
            except (TypeError, ValueError):
                new.clear()
            found = sent(maker, made, value)
            # A list of several has a table for each of them.
            start = ledger.enter(new) if found[0] == "graph" else None
            return encode((*found, (changed, args_at, start)))

        return result

    def arguments(args, kwargs):
        """The lists, dicts and sets in arguments that are plain data."""
        try:
            return mutables([*args, *kwargs.values()])[0]
        except (TypeError, ValueError):
            return []

    def raised(error, setup={}, details=b"", is_setup=False):
        """Says that the program raised: what, and the first class of it that a test can know.

        A setup that cannot import something is the task's fault, and its author is told what.
        """
        kind = type(error)
        is_known = lambda base: base.__module__ == "builtins" or base.__name__ in setup
        base = [base.__name__ for base in kind.__mro__ if is_known(base)][0]
        name = f"{kind.__name__}: {error}" if is_setup and isinstance(error, ImportError) else kind.__name__
        name = str.encode(name[:80], "ascii", "backslashreplace")[:80]
        send(b"e", name + b"\0" + str.encode(base, "ascii", "backslashreplace")[:80] + b"\0" + details)

    def told(error, setup, held):
        """What test code may know of an exception: its arguments, its text, and attributes.

        One of a class of the program's own is an object of it as well.
        """
        def tried(make):
            try:
                data = encode(make())
                return loads(data) if len(data) <= told_limit else None
            except BaseException:
                return None

        args = tried(lambda: BaseException.args.__get__(error))
        text = tried(lambda: str.__str__(str(error)))
        found = {name: tried(lambda: (item,)) for name, item in list(vars(error).items())[:20]}
        found = {name: item[0] for name, item in found.items() if item is not None}
        try:
            own = profile(type(error), setup, held)
            own = (hold(held, error), own) if type(own) is tuple else None
            # It is kept, and with it would be all that its frames hold.
            BaseException.with_traceback(error, None)
        except (TypeError, ValueError):
            own = None
        try:
            return encode((args, text, found, own))
        except (TypeError, ValueError):
            return encode((args, text, {}, own))

    def texts(payload):
        """Texts that stand one after another, each with its length before it."""
        found, at = [], 0
        while at < len(payload):
            length = int.from_bytes(payload[at:at + 4], "little")
            found.append(payload[at + 4:at + 4 + length].decode("utf-8"))
            at += 4 + length
        return found

    def module(name):
        made = types.ModuleType(name)
        made.__file__ = "/tmp/solution.py"
        made.__builtins__ = builtins
        return made

    # What programs are loaded into, and a ledger: made here once, and not by every child.
    program_modules = {name: module(name) for name in ("solution", "__main__")}
    ledger = Ledger()

    def begin_module(name):
        """The namespace of the module that a program becomes."""
        sys.modules["__main__"] = sys.modules[name] = program_modules[name]
        return program_modules[name].__dict__

    def run(source, namespace, name="/tmp/solution.py"):
        exec_(compile_(source, name, "exec", 0, True), namespace)

    # What the setup has made, before the program was loaded.
    made_before = {}

    def is_own(namespace, name):
        """Whether a name is the program's, and not still what the setup has made."""
        if name not in namespace:
            return False
        return name not in made_before or made_before[name] is not namespace[name]

    def look_up(namespace, entry_point, held={}, is_called=True):
        """What a path stands for; a method of a class that is called is one of a new object."""
        head, *rest = entry_point.split(".")
        if head[:1] == "#":
            found = held[int(head[1:])]
        elif is_own(namespace, head):
            found = namespace[head]
        elif not rest and is_own(namespace, "Solution"):
            found, rest = namespace["Solution"], [head]
        else:
            raise NameError(head)
        for at, name in enumerate(rest):
            is_last = at == len(rest) - 1
            if isinstance(found, type) and needs_instance(found, name, is_called or not is_last):
                found = found()
            found = getattr(found, name)
        return found

    def needs_instance(kind, name, is_called):
        """Whether this name is one of an object of the class, and not of the class itself."""
        for base in kind.__mro__:
            if name in base.__dict__:
                found = base.__dict__[name]
                return is_called and type(found) is types.FunctionType or isinstance(found, property)
        return is_called and not hasattr(kind, name)

    def unbound(owner, name, args):
        """`Stack.push` of `Stack.push(stack, 1)`: its first argument is the object."""
        if isinstance(owner, type) and args and isinstance(args[0], owner):
            found = getattr(owner, name, None)
            return found if type(found) is types.FunctionType else None
        return None

    def program():
        """A program whose functions are called; it is imported, so its main guard stays shut."""
        namespace = begin_module("solution")
        setup, held = {}, {}
        while True:
            kind, payload = receive()
            try:
                value = None
                if kind == b"S":
                    run(texts(payload)[0], namespace)
                    setup = setup_classes(namespace)
                    made_before.update(namespace)
                    setup_names.update(setup)
                elif kind == b"L":
                    source, after = texts(payload)
                    run(source[1:] if source[:1] == "\ufeff" else source, namespace)
                    if after:
                        run(after, namespace)
                elif kind == b"C":
                    entry_point, args, kwargs = loads(payload)
                    value = look_up(namespace, entry_point)(*args, **dict(kwargs))
                elif kind == b"P":
                    result = called(namespace, setup, held, ledger, payload)
                elif kind == b"N":
                    found = look_up(namespace, payload.decode("utf-8"), held, False)
                    result = lambda: described(found, setup, held)
                else:
                    question = payload.decode("utf-8")
                    # `sum([1, 2])` asks for the program's own `sum`: Python's answers for no program.
                    name = question.lstrip("( \t\n\\").partition("(")[0].strip(") \t\n\\")
                    if name in built_in and name not in namespace:
                        raise NameError(name)
                    value = eval_(compile_(question, "<test>", "eval", 0, True), namespace)
                    if kind == b"T":
                        value = True if value else False
            except BaseException as error:
                # Only test code asks what else there is to an exception.
                is_asked = kind in b"PN"
                details = told(error, setup, held) if is_asked else b""
                raised(error, setup if is_asked else {}, details, kind == b"S")
                continue
            if kind in b"PN":
                respond(result)
            else:
                respond(encode, value)

    def described(found, setup, held):
        """What a name stands for, for a checker: a function, plain data, or something else."""
        if isinstance(found, type):
            try:
                made = profile(found, setup, held)
            except TypeError:
                # Of this class the checker has no other: it is asked like an object.
                is_ours = found.__module__ == "solution" and found.__name__ not in setup
                is_asked = is_ours and found.__name__ != "Solution"
                made = holding(found, setup, held) if is_asked else None
            return encode(("function", made if type(made) is tuple else None, None))
        if callable(found) and type(found).__module__ != "solution":
            return encode(("function", None, None))
        maker, made = outlined(found) if not hasattr(type(found), "__next__") else ("", found)
        try:
            return encode((maker, made, None), keeps_names=True)
        except (TypeError, ValueError):
            pass
        try:
            return encode(("graph", pack(found, setup, is_answer=True)[0], None))
        except (TypeError, ValueError):
            return encode(("held", holding(found, setup, held), None))

    def flush(stream):
        """A program may close its output, or take it away: what it wrote has then been written."""
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()

    def script():
        """A whole program with real standard streams; what it writes is its answer."""
        namespace = begin_module("__main__")
        _, payload = receive()
        source, _ = texts(payload)
        try:
            run(source[1:] if source[:1] == "\ufeff" else source, namespace)
        except SystemExit:
            pass
        except BaseException as error:
            try:
                flush(sys.stdout)
            except BaseException:
                pass
            return raised(error)
        try:
            threading._shutdown()
            atexit._run_exitfuncs()
            flush(sys.stdout)
            flush(sys.__stdout__)
            # Files of its own that it has not closed are flushed by their end, as at a real exit.
            namespace.clear()
        except BaseException as error:
            return raised(error)
        send(b"l")

    class Refused(BaseException):
        """The program's answer was no plain data."""

    class Ended(RuntimeError):
        """The program has raised StopIteration."""

    class Unsendable(BaseException):
        """The test calls the program with what is no plain data."""

    def update(old, new):
        """Changes `old` in place to what the program has made of it; returns what it is now."""
        kind = type(old)
        if kind is not type(new) or kind not in (list, tuple, dict, set):
            return new
        if kind is tuple:
            return tuple([update(a, b) for a, b in zip(old, new)]) + new[len(old):]
        if kind is list:
            old[:] = [update(a, b) for a, b in zip(old, new)] + new[len(old):]
            return old
        if kind is dict:
            new = {key: update(old.get(key), item) for key, item in new.items()}
        old.clear()
        old.update(new)
        return old

    # Of a text that test code evaluates: what may be in it, and how far powers may go.
    arithmetic = frozenset(
        "Expression Constant BinOp UnaryOp BoolOp Compare IfExp List Tuple Set Dict Load Add Sub Mult Div FloorDiv Mod "
        "Pow MatMult BitAnd BitOr BitXor UAdd USub Not Invert And Or Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn".split()
    )
    power_max = 1000

    def nodes_in(node):
        """The nodes of a syntax tree that stand directly in one of them."""
        for field in node._fields:
            value = getattr(node, field, None)
            for one in value if type(value) is list else [value]:
                if hasattr(one, "_fields"):
                    yield one

    def is_arithmetic(tree):
        """Whether a syntax tree has nothing but literals and operators, and no large powers."""
        powers, nodes = 1, [tree]
        while nodes:
            node = nodes.pop()
            kind = type(node).__name__
            if kind not in arithmetic:
                return False
            if kind == "BinOp" and type(node.op).__name__ == "Pow":
                exponent = node.right
                if type(exponent).__name__ == "UnaryOp":
                    exponent = exponent.operand
                exponent = getattr(exponent, "value", None)
                if type(exponent) not in (int, float) or not abs(exponent) <= power_max:
                    return False
                powers *= max(abs(exponent), 1)
            nodes.extend(nodes_in(node))
        return powers <= power_max

    # What Python's own library runs code by: files that make functions of checked names, and its importers.
    library = types.__file__[: -len("types.py")]
    evaluators = {
        library + "collections/__init__.py": ("namedtuple",),
        library + "dataclasses.py": ("_create_fn", "add_fns_to_class"),
        library + "unittest/mock.py": ("_set_signature", "_set_async_signature"),
    }
    timer = library + "timeit.py"
    ours = sys._getframe().f_code.co_filename
    importers = frozenset(["<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>"])
    making = frozenset(["exec", "function.__new__", "code.__new__", "object.__setattr__"])
    running = making | {"marshal.loads", "marshal.load", "pickle.find_class"}

    class Author:
        """What the author of a test, a setup or a checker has written: its code, and the texts in it.

        A text is the author's if it is the very object in that code: an answer may read the same.
        """

        def __init__(self):
            self.codes, self.texts = [], {}

        def forget(self):
            self.codes.clear()
            self.texts.clear()

        def wrote(self, code):
            """Adds a piece of code with everything in it."""
            values = [one.co_consts for one in self.compiled(code)]
            for value in values:
                if type(value) in (tuple, frozenset):
                    values.extend(value)
                # Texts of one character are the same object wherever they come from.
                elif type(value) is str and len(value) > 1:
                    self.texts[id(value)] = value

        def has_text(self, text):
            return type(text) is str and self.texts.get(id(text)) is text

        def compiled(self, code):
            """Adds code that may be run, and not the texts in it; returns it with what is nested in it."""
            codes = [code]
            for one in codes:
                codes.extend(part for part in one.co_consts if type(part) is types.CodeType)
            self.codes.extend(codes)
            return codes

        def has(self, code):
            return any(code is one for one in self.codes)

    def is_of_library(frame, code):
        """Whether an importer runs a file of Python's own library; what a compiled file says of itself is not asked."""
        if frame.f_code.co_name != "_call_with_frames_removed":
            return code.co_filename.startswith("<frozen ")
        scope = frame.f_locals["args"][-1]
        origin = getattr(scope.get("__spec__"), "origin", None) if type(scope) is dict else None
        return type(origin) is str and origin.startswith(library)

    def guarded(author, has_answer, refuse):
        """`eval`, `exec` and `compile` for code that holds answers of a program.

        Texts that stand in that code are its author's. Of any other text, which may be an answer once there is one,
        literals and operators are evaluated, and everything else is refused: it would run with the rights of
        whoever decides.

        That there is no other way to run an answer is seen to by an audit hook, whatever the way is called: code that
        is neither the author's nor Python's own, and functions and classes that a pickle asks for, are refused. Files
        may be the program's before there is an answer, so imports, pickles and marshalled code are looked at always.
        """
        # Another interpreter would have no hook.
        for name in ("_xxsubinterpreters", "_interpreters"):
            sys.modules[name] = None

        def audit(event, args):
            if event not in running:
                return
            if event == "object.__setattr__":
                if args[1] == "__code__" and has_answer() and not author.has(args[2]):
                    refuse()
                return
            if event in making and author.has(args[0]):
                return
            frame = sys._getframe(1)
            caller = frame.f_code.co_filename
            if caller in importers:
                if event == "exec" and not is_of_library(frame, args[0]):
                    refuse()
                return
            if event == "marshal.loads" and caller == ours or event in making and not has_answer():
                return
            if event == "exec" and frame.f_code.co_name in evaluators.get(caller, ()):
                return
            if event == "exec" and caller == timer:
                # It times functions by a text of its own.
                timed = frame.f_locals.get("stmt"), frame.f_locals.get("setup")
                if all(one in ("pass", "_stmt()", "_setup()") or author.has_text(one) for one in timed):
                    return
            refuse()

        sys.addaudithook(audit)

        def checked(is_own, source, filename, mode, *args, **named):
            """The code of a text or a syntax tree, if that may be run."""
            if isinstance(source, (bytes, bytearray, memoryview)):
                # A text declares no encoding of its own.
                source = bytes(source).decode("utf-8")
            if isinstance(source, str):
                source = str.__str__(source)
            is_authors = is_own or not has_answer()
            if not is_authors:
                tree = compile_(source, filename, mode, 0x400, True) if type(source) is str else source
                if mode != "eval" or not is_arithmetic(tree):
                    refuse()
                source = tree
            code = compile_(source, filename, mode, *args, **named)
            author.wrote(code) if is_authors else author.compiled(code)
            return code

        def guarded_run(run, mode):
            def checked_run(source, *scopes, **named):
                if type(source) is not types.CodeType:
                    is_own = author.has_text(source)
                    if mode == "eval" and isinstance(source, str):
                        source = source.lstrip(" \t")
                    source = checked(is_own, source, "<string>", mode, 0, True)
                elif has_answer() and not author.has(source):
                    refuse()
                if not scopes and not named:
                    frame = sys._getframe(1)
                    scopes = frame.f_globals, frame.f_locals
                return run(source, *scopes, **named)

            return checked_run

        def guarded_compile(source, filename, mode, flags=0, *args, **named):
            if flags & 0x400:
                # A syntax tree is data.
                return compile_(source, filename, mode, flags, *args, **named)
            return checked(author.has_text(source), source, filename, mode, flags, *args, **named)

        def filled(text):
            """Refuses a text that reaches into functions, classes or frames when `format` fills it in."""
            if not has_answer() or author.has_text(text):
                return
            try:
                names = [(name, spec) for _, name, spec, _ in formatter_parser(text) if name is not None]
            except ValueError:
                # `format` raises the same.
                return
            for name, spec in names:
                for is_attribute, part in formatter_field_name_split(name)[1]:
                    if type(part) is str and (part.startswith("_") or part.endswith("_frame")):
                        refuse()
                filled(spec)

        class Text:
            """`str`, for its methods that fill in a text."""

            def format(text, /, *args, **named):
                filled(text)
                return str.format(text, *args, **named)

            def format_map(text, mapping, /):
                filled(text)
                return str.format_map(text, mapping)

        class Filler:
            """A `string.Formatter`, for its methods that fill in a text."""

            def __init__(self, formatter):
                self.formatter = formatter

            def format(self, text, /, *args, **named):
                filled(text)
                return self.formatter.format(text, *args, **named)

            def vformat(self, text, args, named):
                filled(text)
                return self.formatter.vformat(text, args, named)

        def fills(value):
            """What `value.format` is looked up in."""
            if value is str:
                return Text
            if any(kind.__name__ == "Formatter" and kind.__module__ == "string" for kind in type(value).__mro__):
                return Filler(value)
            if isinstance(value, str):
                filled(value)
            return value

        runs = {"eval": guarded_run(eval_, "eval"), "exec": guarded_run(exec_, "exec")}
        return {**runs, "compile": guarded_compile, "whet_fills": fills}

    def author_compile(source, filename):
        """The code of an author's text. In it, `text.format` looks at the text first: it may be an answer."""
        nodes = []
        if "format" in source:
            source = compile_(source, filename, "exec", 0x400, True)
            nodes.append(source)
        while nodes:
            node = nodes.pop()
            if type(node) is syntax.Attribute and node.attr in ("format", "format_map", "vformat"):
                place = {name: getattr(node, name) for name in node._attributes}
                nodes.append(node.value)
                fills = syntax.Name("whet_fills", syntax.Load(), **place)
                node.value = syntax.Call(fills, [node.value], [], **place)
                continue
            nodes.extend(nodes_in(node))
        return compile_(source, filename, "exec", 0, True)

    def checker():
        """Test code that asks the program through the supervisor, and never loads it."""

        # Of this test: an answer could not be used, or a call could not be sent. Whatever the test
        # makes of the exception, it does not pass.
        is_opaque = is_unsendable = False
        # The program has answered; which names it was asked for; which objects are the `Solution`.
        has_answered, fetched, solutions = False, set(), set()
        classes, stand_ins = {}, {}
        suspended = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)
        # Which test it is; the objects that the program has as well; whether an answer was one of them.
        test, numbered, has_shared = 0, {}, False
        # All answers so far, and those that are given again.
        answers, recorded, replayed = [], 0, None

        def refuse(*_):
            nonlocal is_opaque
            is_opaque = True
            raise Refused

        def has_answers():
            return has_answered

        def exception(name, details):
            """An exception like the one that the program has raised."""
            name = name.decode("ascii")
            said = loads(details) if details else None
            # A program can write any answer.
            if type(said) is not tuple or len(said) != 4 or type(said[2]) is not dict:
                said = (None, None, {}, None)
            if said[3] is not None:
                try:
                    made = standing(*said[3])
                except Exception:
                    refuse()
                return made if isinstance(made, BaseException) else refuse()
            args = said[0] if type(said[0]) is tuple else ()
            text = said[1] if type(said[1]) is str else None
            found = {key: item for key, item in said[2].items() if str(key)[:2] != "__"}
            is_own = name in classes
            error = classes[name] if is_own else getattr(builtins, name, None)
            if not isinstance(error, type) or not issubclass(error, BaseException):
                return Refused()
            # `all(map(candidate, ...))` would take these for the end of the list.
            if issubclass(error, (StopIteration, StopAsyncIteration, GeneratorExit)):
                return Ended() if error is StopIteration else RuntimeError()
            if issubclass(error, getattr(builtins, "BaseExceptionGroup", ())):
                return error("", [Exception()])

            def instance(kind):
                if not is_own:
                    try:
                        return kind(*args)
                    except Exception:
                        return kind.__new__(kind)
                made = kind.__new__(kind, *args)
                made.__dict__.update(found)
                return made

            try:
                made = instance(error)
                if text is not None and str(made) == text:
                    return made
            except Exception:
                pass
            shown = refuse if text is None else lambda self: text
            return instance(type(error.__name__, (error,), {"__str__": shown}))

        # A test's threads ask one after another; one that outlives its test asks no more.
        lock = threading.RLock()
        left = set()

        def ask(kind, question):
            """The answer to a question."""
            with lock:
                if threading.current_thread() in left:
                    raise Refused
                if replayed is None:
                    send(kind, question)
                return answered(kind, question)

        def where(value):
            """The text to find what stands for something of the program with, or none."""
            kind = type(value)
            if kind is Proxy or issubclass(type(kind), Class):
                return object.__getattribute__(value, "__whet_path__")
            if issubclass(kind, Class):
                return facts(value).path
            return None

        roles["path"], roles["refuse"] = where, refuse

        def is_object(value):
            """Whether this stands for an object of the program's that is no function or class."""
            return issubclass(type(type(value)), Class)

        class Told(dict):
            """A dict of the program's: what test code would change here, nobody would see there."""

            __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = refuse

        class Unread(dict):
            """A dict of the program's that is no plain data."""

            __eq__ = __ne__ = __len__ = __iter__ = __contains__ = __getitem__ = __bool__ = refuse
            __repr__ = __or__ = __ror__ = __reversed__ = get = keys = items = values = copy = refuse
            __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = refuse

        def part_of(path, name):
            """An attribute of this name, as the program has it."""
            # `Capital(x).startswith("a")` is about a text, and its argument may be what is expected:
            # of an object nobody would ask it.
            if name in predicates:
                refuse()
            found = fetch(f"{path}.{name}")
            if name in ("__dict__", "__annotations__"):
                return Told(found) if type(found) is dict else Unread()
            return found

        class Proxy:
            """A function of the program, or a class of which no more is known than its name."""

            def __init__(self, path):
                # A name that no attribute of the program's objects has.
                object.__setattr__(self, "__whet_path__", path)

            def __call__(self, *args, **kwargs):
                return call(where(self), args, kwargs, "value")

            def __getattribute__(self, name):
                if name in ("__call__", "__eq__", "__ne__", "__hash__"):
                    return object.__getattribute__(self, name)
                # By these Python finds out what a class is, and a function's parameters.
                if name in ("__class__", "__bases__", "__mro_entries__", "__signature__"):
                    refuse()
                return part_of(where(self), name)

            def __instancecheck__(self, value):
                """Of an object of the program's, it says itself which of its classes it is of."""
                if type(value) is Inert:
                    refuse()
                if not is_object(value):
                    return False
                result = call(f"{where(value)}.__instancecheck__", (self,), {}, "value")
                return result if type(result) is bool else refuse()

            def __repr__(self):
                result = call(f"{where(self)}.__repr__", (), {}, "value")
                return result if type(result) is str else refuse()

            # The program says that the name is a function's.
            __setattr__ = __delattr__ = __dir__ = __reduce__ = __reduce_ex__ = __sizeof__ = refuse
            __subclasscheck__ = __format__ = refuse

        class ClassDict:
            """The `__dict__` of a class: `collections.abc` looks for methods there."""

            def __init__(self, shown):
                self.shown = shown

            def __contains__(self, name):
                return name in self.shown if name in specials else refuse()

            def __getitem__(self, name):
                return self.shown[name] if name in self.shown else refuse()

            __eq__ = __ne__ = __iter__ = __len__ = __bool__ = __getattr__ = __hash__ = refuse
            __repr__ = __setitem__ = __delitem__ = __or__ = refuse

        class Facts:
            """What the program says of a class."""

            def __init__(self, path, handle, is_known):
                self.path, self.handle, self.is_known = path, handle, is_known
                # The special methods that it has, those of them that are its own, and those that are
                # None: `__hash__ = None`.
                self.has, self.shown, self.none = set(), {}, set()

        def facts(kind):
            return type.__getattribute__(kind, "__whet_class__")

        class Class(ABCMeta):
            """The class of what stands for a class of the program's."""

            # Nothing is derived from it: a class could forbid that.
            __new__ = refuse
            __prepare__ = classmethod(refuse)

            def __call__(cls, *args, **kwargs):
                return call(facts(cls).path, args, kwargs, "value")

            def __getattribute__(cls, name):
                known = facts(cls)
                if name in ("__mro__", "__bases__", "__base__", "__class__", "__name__"):
                    if known.is_known or name in ("__mro__", "__class__"):
                        return type.__getattribute__(cls, name)
                if name == "__dict__":
                    return ClassDict(known.shown)
                if name not in specials or name in known.has and name in unshown:
                    return part_of(known.path, name)
                if name in known.has:
                    return type.__getattribute__(cls, name)
                if hasattr(object, name):
                    return getattr(object, name)
                if name == "__call__" or name in vars(type(cls)) or hasattr(type, name):
                    return type.__getattribute__(cls, name)
                raise AttributeError(name)

            def __instancecheck__(cls, value):
                return Proxy.__instancecheck__(cls, value)

            def __subclasscheck__(cls, other):
                if not isinstance(other, type):
                    raise TypeError("issubclass() arg 1 must be a class")
                if not issubclass(type(other), Class):
                    return False
                # The program has said so. Python asks this whenever an exception is raised.
                if cls in type.__getattribute__(other, "__mro__"):
                    return True
                result = call(f"{facts(cls).handle}.__subclasscheck__", (other,), {}, "value")
                return result if type(result) is bool else refuse()

            def __dir__(cls):
                return call(f"{facts(cls).handle}.__dir__", (), {}, "value")

            def __repr__(cls):
                result = call(f"{facts(cls).handle}.__repr__", (), {}, "value")
                return result if type(result) is str else refuse()

            __setattr__ = __delattr__ = __reduce__ = __reduce_ex__ = __sizeof__ = refuse

        results = {"__len__": int, "__bool__": bool, "__str__": str, "__repr__": str}

        def operate(name):
            """What an object does for an operator or a builtin function of this name.

            Another operand must be an object of the program too: a plain one may be what is expected.
            """
            kind = results.get(name)

            def method(self, *args):
                if name != "__getitem__" and not all(map(is_object, args)):
                    refuse()
                path = facts(self).handle if issubclass(type(self), Class) else where(self)
                result = call(f"{path}.{name}", args, {}, "value")
                return result if kind is None or type(result) is kind else refuse()

            return method

        # What a setter does to the value is not told: the test may compare something with it.
        def set_attribute(self, name, value):
            call(f"{where(self)}.{name}=", (value,), {}, "value")

        def delete_attribute(self, name):
            call(f"{where(self)}.__delattr__", (name,), {}, "value")

        def set_item(self, key, value):
            call(f"{where(self)}.__setitem__", (key, value), {}, "value")

        def delete_item(self, key):
            call(f"{where(self)}.__delitem__", (key,), {}, "value")

        def enter(self):
            return call(f"{where(self)}.__enter__", (), {}, "value")

        def leave_block(self, kind, error, trace):
            """Leaves a `with` block. Whatever the program says, an exception goes on: it may be
            the test's own, by which it fails."""
            bases = [] if kind is None else kind.__mro__
            names = [base.__name__ for base in bases if base.__module__ == "builtins"]
            call(f"{where(self)}.__exit__", (names[0] if names else None,), {}, "value")
            return False

        def next_item(self):
            try:
                return call(f"{where(self)}.__next__", (), {}, "value")
            except Ended:
                raise StopIteration from None

        def call_object(self, *args, **kwargs):
            return call(where(self), args, kwargs, "value")

        def names_of(self):
            return call(f"{where(self)}.__dir__", (), {}, "value")

        def formatted(self, spec):
            if "__format__" in facts(type(self)).has or spec != "":
                refuse()
            return str(self)

        def attribute(self, name):
            """An attribute of an object, as the program has it."""
            known = facts(type(self))
            if name == "__class__":
                return type(self) if known.is_known else refuse()
            if name in ("__bases__", "__mro_entries__"):
                refuse()
            is_there = name in known.has or hasattr(object, name)
            if name not in specials or name in unshown and is_there:
                return part_of(where(self), name)
            if not is_there:
                raise AttributeError(name)
            return object.__getattribute__(self, name)

        methods = {
            "__setitem__": set_item, "__delitem__": delete_item, "__enter__": enter,
            "__exit__": leave_block, "__call__": call_object, "__next__": next_item,
        }
        for name in operations:
            methods.setdefault(name, operate(name))
        # What its class does when an object is made, or asked for what it has.
        unshown = frozenset(
            "__init__ __new__ __del__ __getattr__ __set_name__ __init_subclass__ __class_getitem__ "
            "__subclasshook__ __instancecheck__ __subclasscheck__".split()
        )
        # What every object has. Of two objects the checker cannot know whether they are equal.
        fixed = {
            "__getattribute__": attribute, "__setattr__": set_attribute,
            "__delattr__": delete_attribute, "__dir__": names_of, "__format__": formatted,
            "__eq__": refuse, "__ne__": refuse, "__reduce__": refuse, "__reduce_ex__": refuse,
            "__sizeof__": refuse,
        }
        common = {**fixed, "__hash__": refuse, "__getstate__": refuse}
        common |= {name: methods[name] for name in ("__str__", "__repr__")}

        def checked(handle):
            """A program can write any answer: a text that is no handle would be a name."""
            return handle if handle[0] == "#" and handle[1:].isdecimal() else refuse()

        def class_of(profile):
            """What stands for a class of the program's, by what that says of it."""
            if type(profile) is str:
                return foundations[profile]
            handle, name, own, nones, meta, bases = profile
            if checked(handle) not in stand_ins:
                bases = [class_of(base) for base in bases]
                known = Facts(handle, handle, True)
                stand_ins[handle] = new_class(known, name, (own, nones), meta, bases)
            return stand_ins[handle]

        def new_class(known, name, methods_of, meta=(), bases=()):
            own = {one for one in methods_of[0] if one in specials}
            above = [facts(base) for base in bases if issubclass(type(base), Class)]
            known.has = own.union(*[base.has for base in above])
            known.none = set().union(*[base.none for base in above]) - own | own & set(methods_of[1])
            content = dict(common)
            for one in known.has - unshown - set(fixed):
                content[one] = None if one in known.none else methods.get(one, refuse)
            if not known.is_known:
                content["__instancecheck__"] = Proxy.__instancecheck__
            known.shown = {one: content.get(one, refuse) for one in own}
            content["__whet_class__"] = known
            kind = Class
            asked = {one for one in meta if one in specials} - unshown - set(vars(Class)) - set(fixed)
            if asked:
                kind = type("Class", (Class,), {one: methods.get(one, refuse) for one in asked})
            return type.__new__(kind, name, tuple(bases), content)

        def standing(handle, profile):
            """What stands for an object of the program's."""
            if checked(handle) not in stand_ins:
                if len(profile) == 2:
                    path = f"{handle}.__class__"
                    kind = new_class(Facts(path, path, False), "", profile)
                else:
                    kind = class_of(profile)
                root = BaseException if issubclass(kind, BaseException) else object
                made = root.__new__(kind)
                object.__setattr__(made, "__whet_path__", handle)
                stand_ins[handle] = made
            return stand_ins[handle]

        class Inert:
            """An object of the program's own inside of another: nothing is known of it."""

            __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = refuse
            __iter__ = __contains__ = __getitem__ = __call__ = __str__ = __repr__ = refuse
            __int__ = __float__ = __index__ = __add__ = __sub__ = __mul__ = __format__ = refuse
            __hash__ = __getattribute__ = __setattr__ = __delattr__ = __abs__ = __round__ = refuse
            __dir__ = __reduce__ = __reduce_ex__ = __sizeof__ = __next__ = __neg__ = __enter__ = refuse

        def unsendable(path):
            """The test is at fault, unless it depends on what the program says its names are."""
            nonlocal is_opaque, is_unsendable
            if fetched <= {path}:
                is_unsendable = True
            else:
                is_opaque = True
            raise Unsendable

        def take_down(start, objects):
            """Takes down the objects that the program has as well."""
            if start is None:
                return
            kept = objects if replayed is None else copied(objects)
            numbered.update({at: one for at, one in enumerate(kept, start) if one is not None})

        def copied(objects):
            """What a test would have got of these objects if they were none of its own."""
            try:
                refer = lambda path: stand_ins[path]
                return unpack(pack(list(objects), classes)[0], classes, (), refer)[0]
            except Exception:
                return objects

        def known_objects(graph):
            """A function for the objects of the checker's that are in an answer."""
            nonlocal has_shared
            wanted = [row[1][0] for row in graph[1] if row[0] == -12]
            has_shared = has_shared or bool(wanted)
            found = [numbered[at] for at in wanted]
            return dict(zip(wanted, found if replayed is None else copied(found))).__getitem__

        def answered(asked, question):
            """The answer to the last question."""
            nonlocal has_answered, recorded
            if replayed is None:
                kind, payload = receive()
                if recorded <= answers_limit:
                    recorded += len(question) + len(payload)
                    answers.append((asked, question, kind, payload))
            else:
                # With other arguments the answer would be another.
                same = [at for at, one in enumerate(replayed) if one[:2] == (asked, question)]
                kind, payload = replayed.pop(same[0])[2:] if same else refuse()
            has_answered = True
            if kind == b"e":
                raise exception(*payload.split(b"\0", 1))
            if kind != b"v":
                refuse()
            try:
                return loads(payload)
            except Exception:
                refuse()

        def fetch(path):
            """What a name of the program stands for."""
            if path in stand_ins:
                return stand_ins[path]
            fetched.add(path)
            maker, value, _ = ask(b"n", path.encode())
            if maker != "function":
                return made(maker, value, True)
            if value is None:
                return stand_ins.setdefault(path, Proxy(path))
            try:
                if len(value) == 2:
                    stand_ins[path] = standing(*value)
                    return stand_ins[path]
                stand_ins[path] = kind = class_of(value)
                # By its name more is known of a class.
                if facts(kind).path[0] == "#":
                    facts(kind).path = path
                return kind
            except Exception:
                refuse()

        def made(maker, value, may_hold, start=None):
            """The value of an answer. `may_hold`: an object may stay with the program; `start`: the
            number of its first object."""
            try:
                if maker == "graph":
                    known = known_objects(value)
                    found, items = unpack(value, classes, inert=Inert, numbered=known)
                    take_down(start, of_rows(value, items))
                    return found
                if maker == "held":
                    return standing(*value) if may_hold else refuse()
                if maker == "nodes":
                    kinds = [kind for kind, _ in value if kind not in ("", "graph", "held")]
                    return refuse() if kinds else iter([made(*one, may_hold) for one in value])
                return makers[maker](*value) if maker else value
            except Exception:
                refuse()

        def call(path, args, kwargs, wants):
            """Calls the program. The test wants the value, or what becomes of the arguments."""
            owner, _, last = path.rpartition(".")
            is_told = owner and owner not in solutions and owner != "Solution"
            if is_told and last in comparing:
                for one in (*args, *kwargs.values()):
                    if type(one) not in numbers and not is_object(one):
                        refuse()
            items = graph = None
            try:
                given, is_twice = mutables([*args, *kwargs.values()])
            except (TypeError, ValueError):
                given, is_twice = [], False
            try:
                if is_twice:
                    raise ValueError
                question = (path, args, list(kwargs.items()), None, wants, test)
                question = encode(question, keeps_names=True)
            except (TypeError, ValueError):
                try:
                    graph, items = pack((args, kwargs), classes)
                    given = of_rows(graph, items)
                    question = encode((path, None, None, graph, wants, test))
                except (TypeError, ValueError):
                    unsendable(path)
            maker, value, more = ask(b"q", question)
            try:
                changed, args_at, value_at = more
            except (TypeError, ValueError):
                refuse()
            is_nothing = value is None and not maker
            if changed and (wants == "changes" or wants == "changes if nothing" and is_nothing):
                try:
                    new_args, new_kwargs, table = changed
                    if graph is not None:
                        # Of the program's own objects it may name those alone that it was given.
                        given = {row[1][0] for row in graph[1] if row[0] == -8}
                        known = lambda path: stand_ins[path] if path in given else refuse()
                        unpack(table, classes, items, known, Inert)
                    else:
                        if table is not None:
                            (new_args, new_kwargs), _ = unpack(table, classes, inert=Inert)
                        update(args, new_args)
                        update(kwargs, dict(new_kwargs))
                except Exception:
                    refuse()
            may_hold = last[:1].isupper() or path[:1] == "#" or makes_objects(owner)
            try:
                take_down(args_at, given)
                found = made(maker, value, may_hold, value_at)
                if maker == "" and value_at is not None and type(found) not in atoms:
                    take_down(value_at, mutables([found])[0])
            except Exception:
                refuse()
            if maker == "held" and path == "Solution":
                solutions.add(value[0])
            elif maker == "held":
                # An answer that is the `Solution` itself is an object like others.
                solutions.discard(value[0])
            return found

        def wanting(wants):
            """Makes of a function of the program one for calls that want something else."""
            def of(function):
                path = where(function)
                if path is None:
                    return function
                return lambda *args, **kwargs: call(path, args, kwargs, wants)

            return of

        class Builtins(dict):
            """Where Python looks for a name last: the program's are fetched, each time anew."""

            def __missing__(self, name):
                if name in patched:
                    return getattr(builtins, name)
                if name not in proxies:
                    raise KeyError(name)
                try:
                    return fetch(name)
                except NameError:
                    raise KeyError(name) from None

        # Names that tests put something else in place of, in the module `builtins`.
        patched = frozenset(["print", "input", "open"])
        author = Author()
        own_builtins = {**vars(builtins), **guarded(author, has_answers, refuse)}
        own_builtins = {name: own_builtins[name] for name in own_builtins if name not in patched}
        is_again = False
        while True:
            if is_again:
                # What an answer shares with the test must not be what it passes by, either.
                replayed = list(answers)
                random.setstate(state)
            else:
                _, payload = receive()
                state, replayed, has_shared, test = random.getstate(), None, False, test + 1
                answers.clear()
                recorded = 0
            is_again = False
            token, setup, code, proxies, modules, entry_point = texts(payload)
            token = token.encode()
            proxies = frozenset(proxies.split())
            is_opaque = is_unsendable = False
            numbered.clear()
            has_answered, fetched, solutions = False, set(), set()
            classes, stand_ins = {}, {}
            author.forget()
            namespace = {"__name__": "check", "__builtins__": Builtins(own_builtins)}
            namespace["whet_drop"] = wanting("changes")
            namespace["whet_void"] = wanting("changes if nothing")
            sys.modules["check"] = types.ModuleType("check")
            sys.modules["check"].__dict__.update(namespace)
            try:
                for name in modules.split():
                    namespace[name] = __import__(name)
                compiled = author_compile(code, "<test>")
                author.wrote(compiled)
                if setup:
                    prepared = author_compile(setup, "<setup>")
                    author.wrote(prepared)
                    exec_(prepared, namespace)
                    classes = setup_classes(namespace)
                    setup_names.update(classes)
            except BaseException as error:
                # Once the program has answered, it may be the answer that the setup fails on.
                is_ours = not is_opaque and not has_answered and replayed is None
                send(b"b", token + ascii(error)[:500].encode()) if is_ours else send(b"o", token)
                continue
            try:
                exec_(compiled, namespace)
                if entry_point:
                    check = namespace.get("check")
                    if check is None:
                        send(b"b", token + b"the test defines no function `check`")
                        continue
                    if isinstance(check(fetch(entry_point)), suspended):
                        send(b"b", token + b"`check` is a coroutine or a generator, which nobody runs")
                        continue
                end = b"p"
            except BaseException as error:
                end = b"f" + type(error).__name__.encode("ascii", "backslashreplace")[:80]
            with lock:
                left.update(threading.enumerate())
                left.discard(threading.current_thread())
                is_again = end == b"p" and has_shared and replayed is None
                if is_unsendable:
                    send(b"b", token + b"it calls the program with what is no plain data")
                elif is_opaque:
                    send(b"o", token)
                elif not is_again:
                    send(end[:1], token + end[1:])
                is_again = is_again and not is_unsendable and not is_opaque

    def checker_line(error):
        """The last line of the author's checker that an exception came through."""
        line, trace = 0, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<checker>":
                line = trace.tb_lineno
            trace = trace.tb_next
        return f"line {line} of the checker: " if line else ""

    def answer_checker():
        """A checker of the task's author: one answer, as plain data, in a process of its own."""
        _, payload = receive()
        parts, at = [], 0
        while at < len(payload):
            length = int.from_bytes(payload[at:at + 4], "little")
            parts.append(payload[at + 4:at + 4 + length])
            at += 4 + length
        token, code, data = parts[0], parts[1].decode("utf-8"), [loads(part) for part in parts[2:]]
        author, refused, given = Author(), [], []

        def refuse(*_):
            refused.append(True)
            raise Refused

        guards = guarded(author, lambda: given, refuse)
        namespace = {"__name__": "checker", "__builtins__": {**vars(builtins), **guards}}
        try:
            compiled = author_compile(code, "<checker>")
            author.wrote(compiled)
            exec_(compiled, namespace)
            given.append(True)
            found = namespace["check"](*data)
        except BaseException as error:
            if refused:
                return send(b"n", token)
            return send(b"f", token + (checker_line(error) + ascii(error)[:400]).encode())
        if refused:
            return send(b"n", token)
        if found is True or found is False:
            return send(b"p" if found else b"n", token)
        send(b"f", token + b"`check` returns " + ascii(type(found).__name__)[:80].encode() + b", expected True or False")

    kinds = {1: program, 2: script, 3: checker, 4: answer_checker}

    # Every child has the same random numbers.
    random.seed(0)
    return kinds


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
