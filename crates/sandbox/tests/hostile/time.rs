//! Time: clocks are kept outside, of the processor and on the wall, for the whole program.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold, stdio};

pub(crate) const CASES: &[Case] = &[
    call("a loop without end", &["timeout"], "while True: pass\n").burns(),
    call(
        "a pattern that backtracks",
        &["timeout"],
        "import re\ndef gap(a, b): return re.match(r'(x+x+)+y', 'x' * 64)\n",
    )
    .burns(),
    call("a power of many digits", &["timeout", "memory"], "def gap(a, b): return len(str(7 ** (10 ** 9)))\n").burns(),
    call(
        "a loop in C",
        &["timeout"],
        "import collections, itertools\ndef gap(a, b): collections.deque(itertools.count(), maxlen=0)\n",
    )
    .burns(),
    call("a sum in C", &["timeout"], "def gap(a, b): return sum(range(10 ** 12))\n").burns(),
    call("digits of a long number", &["timeout"], "import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(0)\ndef gap(a, b): return len(str(1 << (1 << 24)))\n").burns(),
    call(
        "threads that compute together",
        &["timeout"],
        r"
import threading
def burn():
    while True: pass
for _ in range(8): threading.Thread(target=burn, daemon=True).start()
burn()
",
    )
    .burns(),
    call(
        "each test takes most of the time",
        &["timeout"],
        r"
import time
def gap(a, b):
    end = time.process_time() + 0.08
    while time.process_time() < end: pass
    return abs(a - b)
",
    )
    .burns(),
    call("it sleeps", &["timeout"], "import time\ntime.sleep(10 ** 6)\n").sleeps(),
    call("it sleeps in a call", &["timeout"], "import time\ndef gap(a, b): time.sleep(10 ** 6)\n").sleeps(),
    call(
        "it waits for itself",
        &["timeout"],
        "import threading\nlock = threading.Lock()\nlock.acquire()\ndef gap(a, b): lock.acquire()\n",
    )
    .sleeps(),
    call("it waits for a signal", &["timeout"], "import signal\ndef gap(a, b): signal.pause()\n").sleeps(),
    call(
        "it waits at a pipe that nobody fills",
        &["timeout"],
        "import os\nends = os.pipe()\ndef gap(a, b): return os.read(ends[0], 1)\n",
    )
    .sleeps(),
    call(
        "an event loop without end",
        &["timeout"],
        "import asyncio\ndef gap(a, b): asyncio.new_event_loop().run_forever()\n",
    )
    .sleeps(),
    call(
        "it stops itself",
        &["timeout", "wrong"],
        "import os, signal\ndef gap(a, b):\n    os.kill(os.getpid(), signal.SIGSTOP)\n    return -1\n",
    )
    .sleeps(),
    call("it reads an input that is not there", &["load_error EOFError"], "word = input()\n"),
    call(
        "it reads an input that is not there to its end",
        &["wrong"],
        "import sys\ntext = sys.stdin.read()\ndef gap(a, b): return len(text) - 1\n",
    ),
    call(
        "it calls itself without end",
        &["raised RecursionError", "crashed", "timeout", "memory"],
        "def gap(a, b): return gap(a, b)\n",
    ),
    call(
        "it calls itself without end and without a limit",
        &["raised", "crashed", "timeout", "memory"],
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef gap(a, b): return gap(a, b) + 1\n",
    )
    .burns(),
    call(
        "it calls itself in C without a limit",
        &["raised", "crashed", "timeout", "memory", "wrong"],
        r"
import sys
sys.setrecursionlimit(10 ** 9)
class Deep:
    def __repr__(self): return repr(self)
def gap(a, b): return len(repr(Deep()))
",
    )
    .burns(),
    stdio("a script that sleeps", &["timeout"], "import time\nprint(7)\ntime.sleep(10 ** 6)\n").sleeps(),
    stdio(
        "a script whose last thread never ends",
        &["timeout"],
        r"
import threading
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
threading.Thread(target=threading.Event().wait).start()
",
    )
    .sleeps(),
    stdio("a script that computes for ever", &["timeout"], "while True: pass\n").burns(),
    stdio(
        "a script that computes in an exit hook",
        &["timeout"],
        r"
import atexit
def burn():
    while True: pass
atexit.register(burn)
print(7)
print(30)
",
    )
    .burns(),
];

#[test]
fn time_runs_out_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn time_runs_out_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
