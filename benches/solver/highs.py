"""Compares verdicts with HiGHS.

    pip install highspy
    cargo run -p whetstone-solver --example verdicts -- FOLDER COUNT
    python benches/solver/highs.py FOLDER FOLDER/verdicts.jsonl

The example writes random models as MPS files and prints our verdict on each. This script solves the same files with
HiGHS, with and without presolve, and prints every difference and a summary as one JSON object. It ends with 1 if
a verdict differs from both of HiGHS's answers.
"""

import json
import sys
from pathlib import Path

import highspy

TOLERANCE = 1e-6


def answer(path, presolve):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", presolve)
    if presolve == "off":
        solver.setOptionValue("mip_rel_gap", 0.0)
    solver.readModel(str(path))
    solver.run()
    status = solver.modelStatusToString(solver.getModelStatus()).lower()
    return {"verdict": status, "objective": solver.getInfo().objective_function_value}


def agrees(ours, theirs):
    if ours["verdict"] in ("infeasible", "unbounded"):
        return theirs["verdict"] in (ours["verdict"], "primal infeasible or unbounded")
    gap = abs(ours["objective"] - theirs["objective"])
    return theirs["verdict"] == "optimal" and gap <= TOLERANCE * (1 + abs(ours["objective"]))


def main(folder, verdicts):
    counts = {"models": 0, "agree": 0, "agree without presolve": 0, "no verdict": 0, "differ": 0}
    by_verdict = {}
    for line in Path(verdicts).read_text().splitlines():
        ours = json.loads(line)
        counts["models"] += 1
        by_verdict[ours["verdict"]] = by_verdict.get(ours["verdict"], 0) + 1
        if ours["verdict"] == "none":
            counts["no verdict"] += 1
            continue
        path = Path(folder) / ours["file"]
        theirs = answer(path, "choose")
        if agrees(ours, theirs):
            counts["agree"] += 1
            continue
        plain = answer(path, "off")
        kind = "agree without presolve" if agrees(ours, plain) else "differ"
        counts[kind] += 1
        print(json.dumps({"ours": ours, "highs": theirs, "highs without presolve": plain}), file=sys.stderr)
    print(json.dumps({"highs": highspy.Highs().version(), **counts, "ours": by_verdict}, indent=1))
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
