"""What plain CPython says of programs and their tests: the oracle that the judge must agree with.

    python3 plain.py CASES OUT WORKERS

CASES is what `cases.py` writes; OUT gets one JSON object a line, in the same order. Nothing clever
happens here: the program is executed, then the setup, then each test, in one process of its own
that is forked for it. `tests` holds `pass` or the exception's name for each test that ended, and
`end` says `done`, `load NAME`, `timeout`, `signal N` or `exit`. The limit is half above the one of
the judge, so that what ends near the judge's can be told from what does not end.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import types

SLACK = 1.5
MEMORY = 3 << 29
# As many modules as a program might want, so that no child needs to import them.
for name in "array bisect cmath collections copy datetime decimal fractions functools heapq \
    itertools math operator re statistics string typing".split():
    __import__(name)


def judge(case):
    if case["tests"]["kind"] == "stdio":
        return [run_whole(case, test) for test in case["tests"]["hidden"]]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            limit(case["cpu_s"] * SLACK)
            execute(case, lambda word: os.write(writer, word.encode() + b"\n"))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        words = file.read().split("\n")[:-1]
    _, status, usage = os.wait4(child, 0)
    return words, status, usage.ru_utime + usage.ru_stime


def limit(cpu_s):
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, 3 * cpu_s + 10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    random.seed(0)


def execute(case, say):
    # Below the program there are five frames that it would not have by itself.
    sys.setrecursionlimit(sys.getrecursionlimit() + 5)
    module = types.ModuleType("solution")
    sys.modules["solution"] = sys.modules["__main__"] = module
    space = module.__dict__
    try:
        for code in (case["program"], case["setup"]):
            exec(compile(code, "solution.py", "exec", dont_inherit=True), space)
    except BaseException as error:
        return say(f"load {type(error).__name__}")
    for test in case["tests"]["hidden"]:
        if case["tests"]["kind"] == "script":
            test += f"\ncheck({case['tests']['entry_point']})\n"
        try:
            exec(compile(test, "test.py", "exec", dont_inherit=True), space)
        except BaseException as error:
            say(type(error).__name__)
        else:
            say("pass")
    say("done")


def report(words, status, cpu):
    if words and (words[-1] == "done" or words[-1].startswith("load ")):
        end = words.pop()
    elif os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
        end = "timeout" if late else f"signal {os.WTERMSIG(status)}"
    else:
        end = "exit"
    return {"tests": words, "end": end, "cpu_s": cpu}


def run_whole(case, test):
    """Runs a program with real streams; whether it writes what it should."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "solution.py")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(case["program"])
        before = sum(os.times()[2:4])
        ran = subprocess.run(
            [sys.executable, path], input=test["input"].encode(), capture_output=True,
            env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}, cwd=folder,
        )
        cpu = sum(os.times()[2:4]) - before
    if ran.returncode != 0:
        return ran.stderr.decode("utf-8", "replace").strip().split("\n")[-1].split(":")[0], cpu
    right = alike(ran.stdout.decode("utf-8", "replace"), test["output"])
    return "pass" if right else "AssertionError", cpu


def alike(found, expected):
    found, expected = (text.rstrip().split("\n") for text in (found, expected))
    rows = zip([line.split() for line in found], [line.split() for line in expected])
    return len(found) == len(expected) and all(
        len(a) == len(b) and all(map(same, a, b)) for a, b in rows
    )


def same(found, expected):
    if found == expected:
        return True
    try:
        fraction = not expected.lstrip("+-").isdigit()
        close = abs(float(found) - float(expected)) <= 1e-6 * max(1, abs(float(expected)))
    except ValueError:
        return False
    return fraction and close


def work(cases, path):
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            found = judge(case)
            if case["tests"]["kind"] == "stdio":
                words, cpu = [word for word, _ in found], max(cpu for _, cpu in found)
                found = {"tests": words, "end": "done", "cpu_s": cpu}
            else:
                found = report(*found)
            print(json.dumps({"id": case["id"], **found}), file=out)


def main(cases, out, workers):
    with open(cases, encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    parts = [f"{out}.{number}" for number in range(workers)]
    children = []
    for number, part in enumerate(parts):
        child = os.fork()
        if child == 0:
            work(rows[number::workers], part)
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    found = []
    for part in parts:
        with open(part, encoding="utf-8") as file:
            found.append(file.read().splitlines())
    with open(out, "w", encoding="utf-8") as file:
        for number in range(len(rows)):
            print(found[number % workers][number // workers], file=file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
