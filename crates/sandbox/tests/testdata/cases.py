"""Writes programs with their tests, one JSON object a line: references and mutants of them.

    python3 cases.py DATA_FOLDER KIND COUNT CPU_SECONDS

KIND is `references` (of MBPP, sanitized MBPP and HumanEval), `mutants` (of MBPP and HumanEval) or
`apps`. COUNT is how many of them, spread evenly; 0 means all. CPU_SECONDS is the limit that each
will be judged under. The tests are written as a task has them.
"""

import gzip
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mutate

SEED = 20_240_501


def lines(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def mbpp(folder):
    for row in lines(os.path.join(folder, "mbpp", "mbpp.jsonl")):
        tests = row["test_list"] + row["challenge_test_list"]
        yield asserts(f"mbpp/{row['task_id']}", row["code"], row["test_setup_code"], tests)


def sanitized(folder):
    with open(os.path.join(folder, "mbpp", "sanitized-mbpp.json"), encoding="utf-8") as file:
        rows = json.load(file)
    for row in rows:
        setup = "\n".join(row["test_imports"])
        yield asserts(f"sanitized/{row['task_id']}", row["code"], setup, row["test_list"])


def asserts(name, program, setup, tests):
    tests = {"kind": "asserts", "hidden": tests}
    return {"id": name, "program": program, "setup": setup, "tests": tests}


def humaneval(folder):
    for row in lines(os.path.join(folder, "humaneval", "HumanEval.jsonl.gz")):
        program = row["prompt"] + row["canonical_solution"]
        tests = {"kind": "script", "entry_point": row["entry_point"], "hidden": [row["test"]]}
        # Helpers that stand before the function are the task's own, as in prepared tasks.
        setup = ("\n" + row["prompt"]).partition(f"\ndef {row['entry_point']}(")[0][1:] + "\n"
        yield {"id": row["task_id"], "program": program, "setup": setup, "tests": tests}


def apps(folder):
    for row in lines(os.path.join(folder, "apps_format", "codecontests140.jsonl.gz")):
        io = json.loads(row["input_output"])
        pairs = zip(io["inputs"], io["outputs"])
        tests = {"kind": "stdio", "hidden": [{"input": a, "output": b} for a, b in pairs]}
        for number, program in enumerate(json.loads(row["solutions"])):
            name = f"apps/{row['problem_id']}.{number}"
            yield {"id": name, "program": program, "setup": "", "tests": tests}


def spread(cases, count):
    """So many of the cases, from all over them."""
    if count == 0 or count >= len(cases):
        return cases
    return [cases[at * len(cases) // count] for at in range(count)]


def mutants(cases, count):
    """Different mutants of cases drawn by lot, always the same ones."""
    rng = random.Random(SEED)
    seen = set()
    while len(seen) < count:
        case = rng.choice(cases)
        made = mutate.mutant(case["program"], rng)
        if made is None or (case["id"], made[1]) in seen:
            continue
        how, program = made
        seen.add((case["id"], program))
        yield {**case, "id": f"{case['id']} {how} #{len(seen)}", "program": program}


def main(folder, kind, count, cpu_s):
    if kind == "references":
        sets = [list(mbpp(folder)), list(sanitized(folder)), list(humaneval(folder))]
        total = sum(map(len, sets))
        found = [case for cases in sets for case in spread(cases, count * len(cases) // total)]
    elif kind == "mutants":
        found = mutants(list(mbpp(folder)) + list(humaneval(folder)), count)
    else:
        found = spread(list(apps(folder)), count)
    for case in found:
        print(json.dumps({**case, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
