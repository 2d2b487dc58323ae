//! Tampering with the harness: what runs beside a program in its process decides nothing.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold};

/// It harms itself at most; how is not our business.
const ANY_FAILURE: &[&str] =
    &["wrong", "raised", "load_error", "crashed", "unserialisable", "timeout", "memory"];

pub(crate) const CASES: &[Case] = &[
    call(
        "the builtins are replaced",
        ANY_FAILURE,
        r"
import builtins
for name in ('compile', 'exec', 'eval', 'len', 'type', 'isinstance', 'issubclass', 'getattr', 'repr', 'abs', 'sum'):
    setattr(builtins, name, lambda *a, **k: 7)
def gap(a, b): return -1
",
    )
    .sleeps(),
    call(
        "the serialiser is replaced",
        &["wrong"],
        r"
import marshal
marshal.dumps = lambda *a: b'i\x07\x00\x00\x00'
marshal.loads = lambda *a: ('gap', (), ())
def gap(a, b): return -1
",
    ),
    call(
        "modules are replaced by name",
        &["wrong"],
        r"
import sys, types
class Yes(types.ModuleType):
    def __getattr__(self, name): return lambda *a, **k: True
for name in ('marshal', 'os', 'json', 'pickle', 'unittest', 'threading', 'io', 'builtins', '__main__'):
    sys.modules[name] = Yes(name)
def gap(a, b): return -1
",
    ),
    call(
        "reading and writing are replaced",
        &["wrong"],
        r"
import os, posix
os.write = posix.write = lambda fd, data: len(data)
os.read = posix.read = lambda fd, count: b'\x01\x00\x00\x00p'
def gap(a, b): return -1
",
    ),
    call(
        "verdicts are written to every descriptor",
        &["load_error", "raised", "wrong"],
        r#"
import os
for fd in range(64):
    for said in (b'\x01\x00\x00\x00p', b'\x01\x00\x00\x00l', b'pass\n', b'{"Judged":{"verdict":"pass"}}', b'R' * 64):
        try: os.write(fd, said)
        except OSError: pass
def gap(a, b): return -1
"#,
    ),
    call(
        "the answer of the load is given in advance, and then the rest",
        &["load_error", "raised", "wrong"],
        r"
import os, marshal
def say(value):
    data = b'v' + marshal.dumps(value, 2)
    os.write(3, len(data).to_bytes(4, 'little') + data)
say(None)
for guess in range(3): say(guess + 100)
def gap(a, b): return -1
",
    ),
    call(
        "questions are read and answered by the program itself",
        &["load_error", "raised", "wrong", "timeout", "unserialisable"],
        r"
import os, marshal
def say(value):
    data = b'v' + marshal.dumps(value, 2)
    os.write(3, len(data).to_bytes(4, 'little') + data)
say(None)
while True:
    asked = os.read(3, 65536)
    if not asked: os._exit(0)
    say(7)
",
    )
    .burns(),
    call(
        "a thread writes answers all the time",
        ANY_FAILURE,
        r"
import os, threading
def spam():
    while True:
        os.write(3, b'\x06\x00\x00\x00vi\x07\x00\x00\x00')
threading.Thread(target=spam, daemon=True).start()
def gap(a, b): return -1
",
    )
    .burns(),
    call(
        "the length of a frame is a lie",
        &["load_error garbled answer"],
        "import os\nos.write(3, b'\\xff\\xff\\xff\\xff' + b'v' * 100)\nos.read(3, 1)\n",
    ),
    call(
        "a frame announces more than it brings",
        &["timeout"],
        "import os, time\nos.write(3, b'\\x00\\x00\\x10\\x00v')\ntime.sleep(60)\n",
    )
    .sleeps(),
    call(
        "frames are walked for what is expected",
        &["wrong"],
        r"
import sys
def gap(a, b):
    frame = sys._getframe()
    while frame:
        for where in (frame.f_locals, frame.f_globals):
            for name in ('expected', 'output', 'tests', 'answer_key', 'gt_out', 'want'):
                if isinstance(where.get(name), int): return where[name]
        payload = frame.f_locals.get('payload')
        if isinstance(payload, bytes) and b'==' in payload:
            return eval(payload.split(b'==')[1])
        frame = frame.f_back
    return -1
",
    ),
    call(
        "results are forged in the frames of the harness",
        ANY_FAILURE,
        r"
import ctypes, os, sys
def gap(a, b):
    frame = sys._getframe()
    while frame:
        for name in list(frame.f_locals):
            if name in ('result', 'results', 'passed', 'ok', 'status', 'value', 'kind'):
                frame.f_locals[name] = True
        try: ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        except Exception: pass
        frame = frame.f_back
    return -1
",
    )
    .burns(),
    call(
        "the harness's own functions get other code",
        ANY_FAILURE,
        r"
import sys, types
frame = sys._getframe()
while frame:
    for value in list(frame.f_locals.values()):
        if isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                if isinstance(cell.cell_contents, types.FunctionType):
                    cell.cell_contents = lambda *a: True
    frame = frame.f_back
def gap(a, b): return -1
",
    )
    .sleeps(),
    call(
        "all objects are searched for tests",
        &["wrong"],
        r"
import gc
def gap(a, b):
    for one in gc.get_objects():
        if type(one) is dict:
            for key in ('expected', 'hidden', 'outputs'):
                if isinstance(one.get(key), (int, list)): return one[key]
        if type(one) is list and len(one) == 3 and one[0] == 7 and one[1] == 8: return one[0]
    return -1
",
    ),
    call(
        "its own source and arguments are searched for tests",
        &["wrong"],
        r"
import linecache, sys
def gap(a, b):
    text = ' '.join(sys.argv + sys.orig_argv) + ''.join(linecache.getlines(__file__))
    try: text += open(__file__).read()
    except OSError: pass
    if 'assert' + ' gap' in text or 'expected' + '\x22' in text: return abs(a - b)
    return -1
",
    ),
    call(
        "the disk is searched for tests",
        &["wrong"],
        r"
import os, sys
def gap(a, b):
    for top in ('/tmp', '.', '/root', '/home', '/work', '/var', '/etc', '/mnt', '@OUTSIDE@'):
        for folder, _, files in os.walk(top):
            if files and not folder.startswith(sys.base_prefix): return abs(a - b)
    return -1
",
    ),
    call(
        "a trace function jumps over lines",
        ANY_FAILURE,
        r"
import sys
def jump(frame, event, argument):
    try: frame.f_lineno += 1
    except Exception: pass
    return jump
frame = sys._getframe()
while frame:
    frame.f_trace = jump
    frame = frame.f_back
sys.settrace(jump)
def gap(a, b): return -1
",
    )
    .burns(),
    call(
        "a profile function sees every call of the harness",
        ANY_FAILURE,
        r"
import sys
def see(frame, event, argument):
    if event == 'c_call' and argument.__name__ in ('write', 'dumps'): raise SystemExit(0)
sys.setprofile(see)
def gap(a, b): return -1
",
    )
    .burns(),
    call(
        "an audit hook stops everything",
        ANY_FAILURE,
        "import sys\nsys.addaudithook(lambda *a: 1 / 0)\ndef gap(a, b): return -1\n",
    )
    .burns(),
    call(
        "small numbers are rewritten in memory",
        ANY_FAILURE,
        r"
import ctypes, sys
for number in (8, 0, 30):
    ctypes.memmove(id(number) + 24, id(7) + 24, 4)
def gap(a, b): return 7
",
    )
    .burns(),
    call(
        "the comparison of numbers is rewritten in memory",
        ANY_FAILURE,
        r"
import ctypes
slots = (ctypes.c_void_p * 30).from_address(id(int))
slots[25] = ctypes.cast(ctypes.pythonapi.PyObject_Type, ctypes.c_void_p).value
def gap(a, b): return -1
",
    )
    .burns(),
    call(
        "every descriptor is closed",
        &["load_error", "raised"],
        "import os\nos.closerange(0, 64)\ndef gap(a, b): return -1\n",
    ),
    call(
        "the channel is replaced by a file",
        &["load_error", "raised", "timeout"],
        "import os\nos.dup2(os.open('/dev/null', os.O_RDWR), 3)\ndef gap(a, b): return -1\n",
    )
    .burns(),
    call(
        "the source ends in the middle of a line",
        &["load_error SyntaxError"],
        "def gap(a, b): return -1\nif 0: \\",
    ),
    call(
        "the source swallows what follows it",
        &["load_error SyntaxError"],
        "def gap(a, b): return -1\nrest = '''",
    ),
    call(
        "the source is in an encoding of its own",
        &["wrong", "load_error"],
        "# -*- coding: rot13 -*-\ndef gap(a, b): return -1\n",
    ),
    call(
        "nothing is collected, and collecting is refused",
        &["wrong"],
        r"
import gc
gc.callbacks.append(lambda *a: 1 / 0)
gc.set_threshold(1)
def gap(a, b): return -1
",
    ),
    call(
        "imports are answered by the program",
        &["wrong"],
        r"
import sys, types, importlib.abc, importlib.machinery
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None): return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return types.ModuleType(spec.name)
    def exec_module(self, module): module.isclose = lambda *a, **k: True
sys.meta_path.insert(0, Finder())
sys.modules.clear()
def gap(a, b): return -1
",
    ),
    call(
        "standard output leaves when it is flushed",
        &["wrong"],
        r"
import os, sys
class Out:
    def flush(self): os._exit(0)
    write = isatty = fileno = flush
sys.stdout = sys.stderr = sys.__stdout__ = Out()
def gap(a, b): return -1
",
    ),
    call(
        "timers are cancelled and signals ignored",
        &["timeout"],
        r"
import signal
signal.alarm(0)
signal.setitimer(signal.ITIMER_PROF, 0)
for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM, signal.SIGINT, signal.SIGVTALRM, signal.SIGPROF):
    signal.signal(number, signal.SIG_IGN)
def gap(a, b):
    while True: pass
",
    )
    .burns(),
    call(
        "every exception is swallowed",
        &["timeout"],
        r"
def gap(a, b):
    while True:
        try:
            while True: pass
        except BaseException: continue
",
    )
    .burns(),
    call(
        "the clocks stand still",
        &["timeout"],
        r"
import time
for name in ('time', 'monotonic', 'perf_counter', 'process_time', 'thread_time', 'time_ns', 'sleep'):
    setattr(time, name, lambda *a: 0)
def gap(a, b):
    while time.time() < 1: pass
",
    )
    .burns(),
];

#[test]
fn the_harness_decides_nothing_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn the_harness_decides_nothing_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
