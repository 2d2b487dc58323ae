"""The Python zygote and what its children do: a part of Whetstone's judge.

The zygote imports what programs commonly use, then waits in native code for orders. It never sees
a program. `whet_serve` returns in a child only, when the jail is shut: from there on everything in
this process may turn against us, so nothing here decides anything. A child computes values and
sends them; the supervisor compares.

Frames on the channel: four bytes of length, one of kind, the payload.
"""

import sys


def main(socket, proc_dir, library):
    # Where this file is, is no place to import from.
    del sys.path[0]
    import gc
    import os
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    warm()
    loader = ExtensionFileLoader("jail", library)
    serve = module_from_spec(spec_from_file_location("jail", library, loader=loader)).serve
    rehearse()
    child = children(os.read, os.write)
    # A program gets as many frames as it would have by itself: four are ours.
    sys.setrecursionlimit(sys.getrecursionlimit() + 4)
    sys.argv = ["solution.py"]
    sys.orig_argv = ["python3", "solution.py"]
    gc.collect()
    kept = fill()
    gc.freeze()
    kind = serve(socket, proc_dir)
    if kind < 0:
        os._exit(0)
    child(kind)
    os._exit(0)


def fill():
    """Takes up the free places that starting has left all over the heap.

    A child then gets fresh memory, side by side, and need not copy a page for each small object.
    """
    kept = [bytes(size - 33) for size in range(48, 513, 16) for _ in range(50)]
    kept += [bytearray(size) for size in range(528, 4200, 64) for _ in range(2)]
    return kept


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
    questions = [
        (b"L", ("", program, "")),
        (b"V", "gather(['a', 'bc', 'def', 'a'], 2)"),
        (b"V", "(Solution(1).add(2, 3), 1.5, [1, 2], 'text', True)"),
        (b"V", "gather(None)"),
        (b"V", "missing(1)"),
        (b"V", "object()"),
        (b"T", "gather(['a'])"),
        (b"C", ("Solution.add", [1, 2], [])),
    ]
    import marshal
    import sys

    def frame(kind, content):
        if kind == b"L":
            parts = [text.encode() for text in content]
            content = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
        else:
            content = content.encode() if isinstance(content, str) else marshal.dumps(content, 2)
        return (len(content) + 1).to_bytes(4, "little") + kind + content

    class Over(BaseException):
        pass

    modules = dict(sys.modules)
    for _ in range(24):
        frames = [frame(*question) for question in questions]

        def read(channel, size):
            if not frames:
                raise Over
            return frames.pop(0)

        try:
            children(read, lambda channel, data: len(data))(1)
        except Over:
            pass
    sys.modules.clear()
    sys.modules.update(modules)


def children(read, write):
    """Returns the function that a child runs; everything it needs is bound here, in advance."""
    import atexit
    import builtins
    import marshal
    import os
    import random
    import sys
    import threading
    import types
    from collections import deque
    from decimal import Decimal
    from fractions import Fraction
    from itertools import islice

    leave = os._exit
    dumps, loads = marshal.dumps, marshal.loads
    compile_, exec_, eval_ = compile, exec, eval
    size_limit = 1 << 20
    views = (type({}.keys()), type({}.items()))
    dict_values = type({}.values())
    items_limit = 10_000
    makers = {
        "iter": iter,
        "values": lambda items: dict(enumerate(items)).values(),
        "range": range,
        "deque": deque,
        "Fraction": Fraction,
        "Decimal": Decimal,
    }

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

    def encode(value):
        try:
            return dumps(value, 2)
        except ValueError:
            return dumps(plain(value), 2)

    def answer(value):
        try:
            data = encode(value)
        except MemoryError:
            return send(b"e", b"MemoryError")
        except BaseException:
            return send(b"o")
        send(b"v", data) if len(data) <= size_limit else send(b"o")

    def outlined(value):
        """A value for a checker: which of `makers` makes it again, if any, and from what."""
        kind = type(value)
        if kind is range:
            return "range", [value.start, value.stop, value.step]
        if kind is deque:
            return "deque", [list(value)]
        if kind is Fraction:
            return "Fraction", [value.numerator, value.denominator]
        if kind is Decimal:
            return "Decimal", [str(value)]
        if kind is dict_values:
            return "values", [list(value)]
        if hasattr(kind, "__next__"):
            items = list(islice(value, items_limit + 1))
            return "iter", [items if len(items) <= items_limit else value]
        return "", value

    def called(namespace, payload):
        """Calls the program for a checker; its value, and the arguments if it has changed them."""
        entry_point, args, kwargs = loads(payload)
        before = dumps((args, kwargs), 2)
        maker, value = outlined(look_up(namespace, entry_point)(*args, **dict(kwargs)))
        try:
            same = dumps((args, kwargs), 2) == before
        except ValueError:
            same = False
        return maker, value, None if same or value is not None else (args, kwargs)

    def raised(error):
        name = type(error).__name__
        send(b"e", str.encode(name[:80], "ascii", "backslashreplace")[:80])

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
        sys.modules["__main__"] = made
        sys.modules[name] = made
        return made.__dict__

    def run(source, namespace, name="/tmp/solution.py"):
        exec_(compile_(source, name, "exec", 0, True), namespace)

    def look_up(namespace, entry_point):
        head, *rest = entry_point.split(".")
        if head in namespace:
            found = namespace[head]
        elif not rest and "Solution" in namespace:
            found, rest = namespace["Solution"], [head]
        else:
            raise NameError(head)
        for name in rest:
            if isinstance(found, type):
                found = found()
            found = getattr(found, name)
        return found

    def program():
        """A program whose functions are called; it is imported, so its main guard stays shut."""
        namespace = module("solution")
        while True:
            kind, payload = receive()
            try:
                if kind == b"L":
                    before, source, after = texts(payload)
                    if before:
                        run(before, namespace)
                    run(source[1:] if source[:1] == "\ufeff" else source, namespace)
                    if after:
                        run(after, namespace)
                    value = None
                elif kind == b"C":
                    entry_point, args, kwargs = loads(payload)
                    value = look_up(namespace, entry_point)(*args, **dict(kwargs))
                elif kind == b"P":
                    value = called(namespace, payload)
                else:
                    code = compile_(payload.decode("utf-8"), "<test>", "eval", 0, True)
                    value = eval_(code, namespace)
                    if kind == b"T":
                        value = True if value else False
            except BaseException as error:
                raised(error)
                continue
            answer(value)

    def flush(stream):
        """A program may close its output, or take it away: what it wrote has then been written."""
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()

    def script():
        """A whole program with real standard streams; what it writes is its answer."""
        namespace = module("__main__")
        _, payload = receive()
        _, source, _ = texts(payload)
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

    class Refused(Exception):
        """The program's answer was no plain data."""

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

    def checker():
        """Test code that asks the program through the supervisor, and never loads it."""

        # Whether the program has answered with what cannot be sent back to it.
        odd = False

        class Proxy:
            def __init__(self, name):
                self.__name__ = name

            def __call__(self, *args, **kwargs):
                nonlocal odd
                try:
                    call = encode((self.__name__, args, list(kwargs.items())))
                except (TypeError, ValueError):
                    raise TypeError if odd else Unsendable
                send(b"q", call)
                kind, payload = receive()
                if kind == b"v":
                    maker, value, changed = loads(payload)
                    # A function that returns nothing works on its arguments. Another may not
                    # touch what the test still needs, to compare its answer with.
                    if changed and value is None and not maker:
                        update(args, changed[0])
                        update(kwargs, dict(changed[1]))
                    if maker:
                        odd = True
                        return makers[maker](*value)
                    return value
                if kind == b"e":
                    error = getattr(builtins, payload.decode("ascii"), None)
                    if isinstance(error, type) and issubclass(error, Exception):
                        # `all(map(candidate, ...))` would take this one for the end of the list.
                        if issubclass(error, (StopIteration, StopAsyncIteration)):
                            raise RuntimeError
                        raise error()
                raise Refused

        while True:
            _, payload = receive()
            before, code, proxies, modules, entry_point = texts(payload)
            namespace = {"__name__": "check", "__builtins__": builtins}
            try:
                for name in modules.split():
                    namespace[name] = __import__(name)
                if before:
                    run(before, namespace, "<setup>")
                compiled = compile_(code, "<test>", "exec", 0, True)
            except BaseException as error:
                send(b"b", ascii(error)[:500].encode())
                continue
            for name in proxies.split():
                namespace.setdefault(name, Proxy(name))
            try:
                exec_(compiled, namespace)
                if entry_point:
                    check = namespace.get("check")
                    if check is None:
                        send(b"b", b"the test defines no function `check`")
                        continue
                    check(Proxy(entry_point))
            except Unsendable:
                send(b"b", b"it calls the program with what is no plain data")
                continue
            except BaseException as error:
                send(b"f", type(error).__name__.encode("ascii", "backslashreplace")[:80])
                continue
            send(b"p")

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
        code, data = parts[0].decode("utf-8"), [loads(part) for part in parts[1:]]
        namespace = {"__name__": "checker", "__builtins__": builtins}
        try:
            run(code, namespace, "<checker>")
            found = namespace["check"](*data)
        except BaseException as error:
            return send(b"f", (checker_line(error) + ascii(error)[:400]).encode())
        if found is True or found is False:
            return send(b"p" if found else b"n")
        send(b"f", b"`check` returns " + ascii(type(found).__name__)[:80].encode() + b", expected True or False")

    kinds = {1: program, 2: script, 3: checker, 4: answer_checker}

    # Every child has the same random numbers.
    random.seed(0)
    return lambda kind: kinds[kind]()


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
