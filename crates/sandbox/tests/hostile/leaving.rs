//! Leaving early: an exit status is no evidence, and neither is what a program says of itself.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold};

pub(crate) const CASES: &[Case] = &[
    call("it leaves while it is loaded", &["load_error SystemExit"], "raise SystemExit(0)\n"),
    call(
        "it leaves with `exit()` in a call",
        &["raised SystemExit"],
        "def gap(a, b):\n    exit(0)\n",
    ),
    call(
        "it leaves without hooks while it is loaded",
        &["load_error exit"],
        "import os\nos._exit(0)\n",
    ),
    call(
        "it leaves without hooks in a call",
        &["raised exit"],
        "import os\n\ndef gap(a, b):\n    os._exit(0)\n",
    ),
    call(
        "a thread takes the process down while it is loaded",
        &["load_error exit"],
        r"
import os, threading, time
threading.Thread(target=os._exit, args=(0,)).start()
time.sleep(60)
",
    ),
    call(
        "a thread takes the process down in a call",
        &["raised exit"],
        r"
import os, threading
def gap(a, b):
    one = threading.Thread(target=lambda: os._exit(0))
    one.start()
    one.join()
    return -1
",
    ),
    call(
        "a daemon thread that was left leaves between two tests",
        &["raised exit", "wrong"],
        r"
import os, threading, time
def later():
    time.sleep(0.05)
    os._exit(0)
threading.Thread(target=later, daemon=True).start()
def gap(a, b):
    time.sleep(0.04)
    return -1
",
    ),
    call(
        "an exit hook is to turn a failure into a success",
        &["load_error ValueError"],
        r"
import atexit, os
atexit.register(os._exit, 0)
raise ValueError('no')
",
    ),
    call(
        "an exception hook is to turn a failure into a success",
        &["load_error ZeroDivisionError"],
        r"
import os, sys, threading
sys.excepthook = lambda *_: os._exit(0)
sys.unraisablehook = threading.excepthook = lambda *_: os._exit(0)
1 / 0
",
    ),
    call(
        "a destructor leaves when its object goes",
        &["raised exit"],
        r"
import os
class Last:
    def __del__(self):
        os._exit(0)
def gap(a, b):
    Last()
    return -1
",
    ),
    call(
        "it aborts",
        &["crashed 6", "crashed 11"],
        "import os\n\ndef gap(a, b):\n    os.abort()\n",
    ),
    call(
        "it reads where no memory is",
        &["crashed 11"],
        "import ctypes\n\ndef gap(a, b):\n    return ctypes.string_at(0)\n",
    ),
    call(
        "it asks to be terminated",
        &["crashed 15", "wrong"],
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\ndef gap(a, b):\n    return -1\n",
    ),
    call(
        "it kills itself",
        &["raised PermissionError"],
        "import os, signal\ndef gap(a, b):\n    os.kill(os.getpid(), signal.SIGKILL)\n    return -1\n",
    ),
    call(
        "it becomes a program that ends well",
        &["load_error PermissionError"],
        "import os\nos.execv('/bin/true', ['true'])\n",
    ),
    call(
        "it starts a program that ends well in its place",
        &["load_error PermissionError"],
        "import os\nos.posix_spawn('/bin/true', ['true'], {})\nos._exit(0)\n",
    ),
    call(
        "it forks, and the parent leaves",
        &["wrong", "load_error"],
        r"
import os
try:
    if os.fork():
        os._exit(0)
except OSError:
    pass
def gap(a, b):
    return -1
",
    ),
    call(
        "it prints what a harness would print, and leaves",
        &["load_error exit"],
        r#"
import os, sys
for stream in (sys.stdout, sys.stderr):
    print('3 passed in 0.01s\nOK\nAll tests passed\n{"verdict":"pass","tests_passed":3}', file=stream)
    stream.flush()
os._exit(0)
"#,
    ),
    call(
        "it breaks off with an exception that nobody catches",
        &["raised GeneratorExit"],
        "def gap(a, b):\n    raise GeneratorExit\n",
    ),
    call(
        "an exception pretends to be another kind of thing",
        &["raised"],
        r"
class Passed(BaseException):
    def __str__(self):
        raise SystemExit(0)
    __repr__ = __str__
def gap(a, b):
    raise Passed
",
    ),
    call(
        "a trace function leaves from inside the harness",
        &["load_error", "raised"],
        r"
import sys
def leave(frame, event, argument):
    raise SystemExit(0)
sys.settrace(leave)
sys._getframe(0).f_trace = leave
frame = sys._getframe(0)
while frame:
    frame.f_trace = leave
    frame = frame.f_back
def gap(a, b):
    return -1
",
    ),
    call(
        "it defines nothing at all",
        &["raised NameError"],
        "def __getattr__(name):\n    return lambda a, b: abs(a - b)\n",
    ),
];

#[test]
fn no_one_is_paid_for_leaving_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn no_one_is_paid_for_leaving_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
