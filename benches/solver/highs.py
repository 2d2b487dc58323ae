"""Compares verdicts with HiGHS.

    pip install highspy
    cargo run -p whetstone-solver --example verdicts -- FOLDER COUNT        # random models
    cargo run -p whetstone-data --example solver_models -- FOLDER COUNT     # generated problems
    python benches/solver/highs.py FOLDER FOLDER/verdicts.jsonl

The examples write models as MPS files, and our verdict on each. This script solves the same files with HiGHS, with and
without presolve. Where a verdict names its IIS, HiGHS also says whether the members alone have no solution, and whether
they have one without each of them in turn. It prints every difference, and a summary as one JSON object. It ends with 1
if a verdict differs from both of HiGHS's answers, or if an IIS is not one.
"""

import json
import sys
from pathlib import Path

import highspy

TOLERANCE = 1e-6


def opened(path, presolve):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", presolve)
    if presolve == "off":
        solver.setOptionValue("mip_rel_gap", 0.0)
    solver.readModel(str(path))
    return solver


def status(solver):
    solver.run()
    return solver.modelStatusToString(solver.getModelStatus()).lower()


def answer(path, presolve):
    solver = opened(path, presolve)
    return {"verdict": status(solver), "objective": solver.getInfo().objective_function_value}


def agrees(ours, theirs):
    if ours["verdict"] in ("infeasible", "unbounded"):
        return theirs["verdict"] in (ours["verdict"], "primal infeasible or unbounded")
    gap = abs(ours["objective"] - theirs["objective"])
    return theirs["verdict"] == "optimal" and gap <= TOLERANCE * (1 + abs(ours["objective"]))


def subsystem(path, members):
    """A fresh solver with these members alone and no objective."""
    solver = opened(path, "choose")
    lp, inf = solver.getLp(), highspy.kHighsInf
    for index, name in enumerate(lp.row_names_):
        if ("rows", name) not in members:
            solver.changeRowBounds(index, -inf, inf)
    for index, name in enumerate(lp.col_names_):
        lower = lp.col_lower_[index] if ("lower", name) in members else -inf
        upper = lp.col_upper_[index] if ("upper", name) in members else inf
        solver.changeColBounds(index, lower, upper)
        solver.changeColCost(index, 0.0)
    return solver


def iis_error(path, iis):
    """None if the members are an irreducible infeasible subsystem, else what is wrong."""
    members = {(kind, name) for kind, names in iis.items() for name in names}
    if status(subsystem(path, members)) not in ("infeasible", "primal infeasible or unbounded"):
        return "the members alone have a solution"
    for member in sorted(members):
        if status(subsystem(path, members - {member})) != "optimal":
            return f"no solution without {member}"
    return None


def main(folder, verdicts):
    counts = {"models": 0, "agree": 0, "agree without presolve": 0, "no verdict": 0, "differ": 0}
    iis = {"checked": 0, "members": 0, "wrong": 0}
    by_verdict = {}
    for line in Path(verdicts).read_text().splitlines():
        ours = json.loads(line)
        counts["models"] += 1
        by_verdict[ours["verdict"]] = by_verdict.get(ours["verdict"], 0) + 1
        if ours["verdict"] == "none":
            counts["no verdict"] += 1
            continue
        path = Path(folder) / ours["file"]
        if "iis" in ours:
            error = iis_error(path, ours["iis"])
            iis["checked"] += 1
            iis["members"] += sum(len(names) for names in ours["iis"].values())
            iis["wrong"] += error is not None
            if error:
                print(json.dumps({"ours": ours, "error": error}), file=sys.stderr)
        theirs = answer(path, "choose")
        if agrees(ours, theirs):
            counts["agree"] += 1
            continue
        plain = answer(path, "off")
        kind = "agree without presolve" if agrees(ours, plain) else "differ"
        counts[kind] += 1
        print(json.dumps({"ours": ours, "highs": theirs, "highs without presolve": plain}), file=sys.stderr)
    summary = {"highs": highspy.Highs().version(), **counts, "ours": by_verdict, "iis": iis}
    print(json.dumps(summary, indent=1))
    return 1 if counts["differ"] or iis["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
