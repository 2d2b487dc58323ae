"""Collects what benches/learn/arms.sh measured into one JSON document, on standard output.

    arms.py arms|ppo|quickstart OUT VERSION SEED…

pass@1 of every seed at each temperature. Of the quickstart, whose held-out tasks differ by seed, also the gain at the better
temperature of each side, with Student's 95 % interval over seeds; for the arms `whet eval compare --seeds` makes it, on
tasks that all seeds share.
"""

import json
import math
import pathlib
import statistics
import sys

# The quantile that leaves 2.5 % above, by degrees of freedom (printed tables of Student's distribution).
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


def read(path):
    return json.loads(path.read_text())


def over_seeds(gains):
    """Mean and interval of the gains of several seeds; one seed has no interval."""
    mean = statistics.fmean(gains)
    if len(gains) < 2 or len(gains) - 2 >= len(STUDENT):
        return {"mean": mean, "seeds": len(gains)}
    half = STUDENT[len(gains) - 2] * statistics.stdev(gains) / math.sqrt(len(gains))
    return {"mean": mean, "low": mean - half, "high": mean + half, "seeds": len(gains)}


def evaluation(results):
    """pass@1 by temperature of one evaluation."""
    own = f"T={float(results['settings']['eval.temperature']):g}"
    found = {own: results["pass_at_k"]["1"]["value"]}
    for name, at in results.get("by_temperature", {}).items():
        found[name] = at["pass_at_k"]["1"]["value"]
    if results.get("greedy"):
        found["greedy"] = results["greedy"]["value"]
    return found


def arms(out):
    by_arm = {}
    for path in sorted(out.glob("eval/*/evaluation_results.json")):
        arm, seed = path.parent.name.rsplit("-", 1)
        by_arm.setdefault(arm, {})[seed] = evaluation(read(path))
    tables = {path.stem: read(path) for path in sorted(out.glob("tables/*.json"))}
    return {"pass_at_1": by_arm, "comparisons": tables}


def quickstarts(out, seeds):
    by_seed, gains = {}, {}
    for seed in seeds:
        report = read(out / f"runs/quickstart-{seed}/quickstart.json")
        sides = ("before", "after", "difference")
        by_seed[seed] = {
            name: {side: found[side]["value"] for side in sides}
            for name, found in report["by_temperature"].items()
        }
        by_seed[seed]["seconds"] = report["times"]["all_seconds"]
        better = report["better_temperature"]
        by_seed[seed]["better"] = {
            "before": [better["before"], better["gain"]["before"]["value"]],
            "after": [better["after"], better["gain"]["after"]["value"]],
            "difference": better["gain"]["difference"]["value"],
        }
        for name, found in by_seed[seed].items():
            if name != "seconds":
                gains.setdefault(name, []).append(found["difference"])
    return {"by_seed": by_seed, "gain_over_seeds": {name: over_seeds(of) for name, of in gains.items()}}


def main():
    mode, out, version, *seeds = sys.argv[1:]
    out = pathlib.Path(out)
    found = quickstarts(out, seeds) if mode == "quickstart" else arms(out)
    json.dump({"v": 1, "mode": mode, "program": version, "seeds": seeds, **found}, sys.stdout, indent=1)
    print()


main()
