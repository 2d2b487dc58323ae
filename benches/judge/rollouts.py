"""Writes tasks and rollouts for measuring `whet score`: MBPP's solutions and mutants of them.

    python rollouts.py MBPP_JSONL OUT_FOLDER COUNT

Groups of eight: three replies with the reference solution, five with a mutant (an operator, a
comparison or a constant changed, or a statement dropped). The same arguments give the same bytes.
Task 123 is left out: it runs for many seconds.
"""

import ast
import json
import random
import sys

SWAPS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
         ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or,
         ast.Or: ast.And, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}


def places(tree):
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
            found.append(("op", node))
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            found.append(("compare", node))
        if isinstance(node, ast.Constant) and type(node.value) is int:
            found.append(("constant", node))
        if isinstance(node, ast.FunctionDef) and len(node.body) > 1:
            found.append(("drop", node))
    return found


def mutant(code, chance):
    tree = ast.parse(code)
    candidates = places(tree)
    if not candidates:
        return code + "\n\nraise ValueError\n"
    what, node = chance.choice(candidates)
    if what == "op":
        node.op = SWAPS[type(node.op)]()
    elif what == "compare":
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif what == "constant":
        node.value += chance.choice((-1, 1, 2))
    else:
        del node.body[chance.randrange(len(node.body))]
    return ast.unparse(tree)


def main():
    source, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(source, encoding="utf-8") as lines:
        tasks = [json.loads(line) for line in lines]
    tasks = [task for task in tasks if task["task_id"] != 123]
    with open(f"{folder}/tasks.jsonl", "w", encoding="utf-8") as out:
        for task in tasks:
            tests = {"kind": "asserts", "visible": [], "hidden": task["test_list"]}
            out.write(json.dumps({
                "v": 1, "id": f"mbpp/{task['task_id']}", "source": "mbpp", "statement": task["text"],
                "setup": task["test_setup_code"], "tests": tests}) + "\n")
    with open(f"{folder}/rollouts.jsonl", "w", encoding="utf-8") as out:
        for at in range(count):
            group, member = divmod(at, 8)
            step, number = divmod(group, len(tasks))
            task = tasks[number]
            code = task["code"]
            if member >= 3:
                code = mutant(code, random.Random(at))
            text = f"<think>\nSample {at}.\n</think>\n\n```python\n{code}\n```\n"
            out.write(json.dumps({
                "step": step, "prompt_id": f"mbpp/{task['task_id']}", "group_id": member,
                "text": text, "meta": {"temperature": 1.0}}) + "\n")


if __name__ == "__main__":
    main()
