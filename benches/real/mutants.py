"""Writes canonical solutions of HumanEval and MBPP, and simple mutants of them, as completions.

    python mutants.py DATA PER_TASK SEED > mutants.jsonl

For trying `agreement.py` without a model. A mutant changes one number, comparison, operator or
condition, or what is returned.
"""

import ast
import json
import random
import sys
from pathlib import Path

import programs

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div}
WRAPPERS = ["list", "str", "tuple", "sorted", "float", "bool"]


def places(tree):
    """Where a mutant may change a tree: the node and how many ways there are."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, 1
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            yield node, 1
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield node, 1
        elif isinstance(node, ast.Return) and node.value is not None:
            yield node, len(WRAPPERS)


def change(node, way):
    if isinstance(node, ast.Constant):
        node.value += 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp):
        node.op = OPERATORS[type(node.op)]()
    else:
        node.value = ast.Call(ast.Name(WRAPPERS[way], ast.Load()), [node.value], [])


def mutants(source, count, rng):
    sites = [(at, way) for at, (_, ways) in enumerate(places(ast.parse(source))) for way in range(ways)]
    for at, way in rng.sample(sites, min(count, len(sites))):
        tree = ast.parse(source)
        change(list(places(tree))[at][0], way)
        yield ast.unparse(ast.fix_missing_locations(tree))


def main():
    data, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for name, task in programs.tasks(data, "sanitized").items():
        is_humaneval = task["set"] == "humaneval"
        source = task["prompt"] + task["canonical_solution"] if is_humaneval else task["code"]
        for program in [source, *mutants(source, count, rng)]:
            print(json.dumps({"step": 0, "prompt_id": name, "text": f"```python\n{program}\n```"}))


if __name__ == "__main__":
    main()
