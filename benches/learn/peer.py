"""The TRL side of `benches/benches/learn/main.rs`: runs a reference script, with real programs if they are given.

    python3 peer.py TRL_STEP.PY TOKENIZER.JSON [PROGRAMS.JSON]

Without programs the script runs as it is. With them, the reward of a completion is that of a program from the
list, run as a plain subprocess with its tests, as many at a time as there are cores.
"""
import sys

JUDGED = '''
import concurrent.futures, json, subprocess
PROGRAMS = json.load(open(%r))
POOL = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
def judged(at):
    done = subprocess.run([sys.executable, '-c', PROGRAMS[at %% len(PROGRAMS)]], capture_output=True, timeout=10)
    return float(done.returncode == 0)
def rew(completions, **k):
    passed = list(POOL.map(judged, range(len(completions))))
    return [p + float(len(set(c)) %% 7) for p, c in zip(passed, completions)]
'''

script, sys.argv = sys.argv[1], sys.argv[1:]
source = open(script).read()
if len(sys.argv) > 2:
    assert "args=GRPOConfig(" in source, "another reference script than this one knows"
    source = source.replace("args=GRPOConfig(", JUDGED % sys.argv[2] + "args=GRPOConfig(", 1)
exec(compile(source, script, "exec"))
