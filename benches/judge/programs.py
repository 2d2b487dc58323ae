"""Writes the programs of the benchmark: MBPP's test split, as far as every peer can judge it.

    python programs.py MBPP_JSONL OUT

Left out are tasks whose asserts are not all `call(literals) == literal`, those with setup code,
and task 123, which runs for more than ten seconds.
"""

import ast
import json
import sys


def convert(task):
    inputs, expected, names = [], [], set()
    for text in task["test_list"]:
        test = ast.parse(text).body[0].test
        if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Call)):
            return None
        try:
            inputs.append([ast.literal_eval(argument) for argument in test.left.args])
            expected.append(ast.literal_eval(test.comparators[0]))
        except ValueError:
            return None
        names.add(ast.unparse(test.left.func))
    if len(names) != 1 or task["test_setup_code"]:
        return None
    return {
        "id": f"mbpp/{task['task_id']}",
        "code": task["code"],
        "asserts": task["test_list"],
        "entry_point": names.pop(),
        "inputs": repr(inputs),
        "expected": repr(expected),
    }


def main():
    source, out = sys.argv[1:]
    with open(source, encoding="utf-8") as lines, open(out, "w", encoding="utf-8") as output:
        for line in lines:
            task = json.loads(line)
            if 11 <= task["task_id"] <= 510 and task["task_id"] != 123:
                program = convert(task)
                if program:
                    output.write(json.dumps(program) + "\n")


if __name__ == "__main__":
    main()
