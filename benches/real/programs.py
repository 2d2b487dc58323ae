"""Published tasks, and the programs in completions."""

import gzip
import json
import re

FENCE = re.compile(r"^[ \t]*```[ \t]*(?:python3?|py)?[ \t]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def tasks(data, mbpp):
    """The tasks by our ids."""
    found = {}
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            number = row["task_id"].split("/")[1]
            found[f"humaneval/{number}"] = dict(row, set="humaneval")
    rows = {}
    for line in open(data / "mbpp" / "mbpp.jsonl", encoding="utf-8"):
        row = json.loads(line)
        rows[row["task_id"]] = {"setup": row["test_setup_code"], "tests": row["test_list"], "code": row["code"]}
    if mbpp == "sanitized":
        for row in json.load(open(data / "mbpp" / "sanitized-mbpp.json", encoding="utf-8")):
            setup = "\n".join(row["test_imports"])
            rows[row["task_id"]] = {"setup": setup, "tests": row["test_list"], "code": row["code"]}
    for number, row in rows.items():
        found[f"mbpp/{number}"] = dict(row, set="mbpp", entry_point=called(row["tests"][0], row["code"]))
    return found


def called(test, code):
    """The function of `code` that a test calls."""
    defined = re.findall(r"^(?:def|class)\s+(\w+)", code, re.MULTILINE)
    names = [name for name in re.findall(r"(\w+)\s*\(", test) if name in defined]
    return names[0] if names else defined[-1] if defined else None


def completions(paths, known, form):
    """Every completion of a known task, with its program."""
    for path in paths:
        for number, text in enumerate(open(path, encoding="utf-8"), start=1):
            row = json.loads(text)
            name = row.get("prompt_id") or row["task_id"].lower()
            if name not in known:
                continue
            reply = row.get("text", row.get("completion"))
            program = continued(reply, known[name]) if form == "continued" else fenced(reply)
            yield {"id": name, "line": f"{path.name}:{number}", "reply": reply, "program": program}


def fenced(reply):
    """The longest code block of a reply; a reply without a fence that defines something is code."""
    blocks = [block for block in FENCE.findall(reply) if block.strip()]
    if blocks:
        return max(blocks, key=len)
    return reply if re.search(r"^(?:def|class) ", reply, re.MULTILINE) and "```" not in reply else None


def continued(reply, task):
    """The program of a completion that goes on where HumanEval's prompt ends."""
    return task["prompt"] + reply if task["set"] == "humaneval" else reply


def sanitized(lines, known):
    """The same lines with what the entry point needs alone, by EvalPlus' own rule."""
    from evalplus.sanitize import sanitize

    def one(line):
        if line["program"] is None:
            return line
        return dict(line, program=sanitize(line["program"], known[line["id"]]["entry_point"]))

    return [one(line) for line in lines]


class Folder:
    """The files that whet reads: tasks, replies as they came, and programs alone."""

    def __init__(self, out, known, lines):
        self.path = out
        asked = {line["id"] for line in lines}
        self.lines = lines
        with open(out / "tasks.jsonl", "w", encoding="utf-8") as file:
            for name in sorted(asked):
                file.write(json.dumps(whet_task(name, known[name])) + "\n")
        for name, text in (("replies", lambda line: line["reply"]), ("programs", block)):
            with open(out / f"{name}.jsonl", "w", encoding="utf-8") as file:
                for at, line in enumerate(lines):
                    row = {"step": 0, "prompt_id": line["id"], "group_id": at, "text": text(line)}
                    file.write(json.dumps(row) + "\n")


def block(line):
    program = line["program"]
    if program is None:
        return ""
    ticks = "```"
    while ticks in program:
        ticks += "`"
    return f"{ticks}python\n{program}\n{ticks}"


def whet_task(name, task):
    """A task as `whet data prepare` makes it of the published row, judged by `test_list` alone."""
    if task["set"] == "humaneval":
        head = re.search(rf"^def {task['entry_point']}\(", task["prompt"], re.MULTILINE)
        setup = task["prompt"][: head.start()] if head else ""
        tests = {"kind": "script", "entry_point": task["entry_point"], "visible": [], "hidden": [task["test"]]}
    else:
        setup = task["setup"]
        tests = {"kind": "asserts", "visible": task["tests"][:1], "hidden": task["tests"]}
    return {"v": 1, "id": name, "statement": name, "language": "python", "setup": setup, "tests": tests}
