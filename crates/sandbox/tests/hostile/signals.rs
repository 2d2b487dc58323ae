//! Signals, priorities and limits: a program reaches no process but itself, and gets no more than
//! it was given.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold};

pub(crate) const CASES: &[Case] = &[
    call(
        "its parent is killed",
        &["load_error PermissionError"],
        "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
    ),
    call(
        "signals that queue up are sent",
        &["load_error PermissionError"],
        "import os\nos.kill(os.getpid(), 40)\n",
    ),
    call(
        "everyone is killed",
        &["load_error PermissionError"],
        "import os, signal\nos.kill(-1, signal.SIGKILL)\n",
    ),
    call(
        "its group is killed",
        &["load_error PermissionError"],
        "import os, signal\nos.killpg(0, signal.SIGKILL)\n",
    ),
    call(
        "its group is killed in a call, by another name",
        &["raised PermissionError"],
        "import os, signal\ndef gap(a, b):\n    os.kill(0, signal.SIGKILL)\n    return -1\n",
    ),
    call(
        "the judge is killed",
        &["load_error PermissionError"],
        "import os, signal\nos.kill(@JUDGE@, signal.SIGKILL)\n",
    ),
    call(
        "everyone nearby is killed, one by one",
        &["wrong"],
        r"
import os, signal
won = 0
for pid in range(1, 40000):
    if pid == os.getpid(): continue
    try:
        os.kill(pid, signal.SIGKILL)
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "signals by other calls",
        &["wrong"],
        r"
import ctypes, os
c = ctypes.CDLL(None)
room = ctypes.create_string_buffer(128)
won = 0
for pid in (os.getppid(), @JUDGE@, -1, 0):
    won += c.syscall(@NR_tkill@, pid, 9) == 0
    won += c.syscall(@NR_tgkill@, pid, pid, 9) == 0
    won += c.syscall(@NR_rt_sigqueueinfo@, pid, 9, room) == 0
    won += c.syscall(@NR_rt_tgsigqueueinfo@, pid, pid, 9, room) == 0
    won += c.syscall(@NR_pidfd_send_signal@, pid, 9, 0, 0) == 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "signals by way of a descriptor's owner",
        &["wrong"],
        r"
import fcntl, os, signal, socket
won = 0
one, other = socket.socketpair()
for pid in (os.getppid(), @JUDGE@):
    try:
        fcntl.fcntl(one, 10, signal.SIGKILL)
        fcntl.fcntl(one, fcntl.F_SETOWN, pid)
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b'x')
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "signals by way of a timer",
        &["wrong"],
        r"
import ctypes
event = (ctypes.c_uint32 * 16)()
event[2], event[3], event[4] = 9, 4, @JUDGE@
timer = ctypes.c_int()
won = ctypes.CDLL(None).timer_create(0, event, ctypes.byref(timer)) == 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "a grandchild that outlives it",
        &["wrong"],
        r"
import os
won = 0
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: pass
        os._exit(0)
    won = 1
except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "a process by other calls",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
room = ctypes.create_string_buffer(88)
won = 0
for number, first in ((@NR_clone@, 17), (@NR_clone@, 0x4111), (@NR_clone@, 0x8011), (@NR_clone3@, ctypes.addressof(room)), (@NR_vfork@, 0), (@NR_fork@, 0)):
    if number < 0: continue
    done = c.syscall(number, ctypes.c_long(first), 0, 0, 0, 0)
    if done == 0: c._exit(0)
    won += done > 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "limits are raised",
        &["wrong"],
        r"
import resource
won = 0
for which in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_CORE, resource.RLIMIT_STACK):
    for attempt in (lambda: resource.setrlimit(which, (-1, -1)), lambda: resource.prlimit(0, which, (1 << 40, 1 << 40))):
        try:
            attempt()
            won += 1
        except (OSError, ValueError): pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "it takes precedence",
        &["wrong"],
        r"
import os
won = 0
for attempt in (
    lambda: os.nice(-5), lambda: os.setpriority(os.PRIO_PROCESS, 0, -20), lambda: os.nice(5),
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)),
    lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(0, {0}), lambda: os.sched_setaffinity(os.getppid() or 1, {0}),
):
    try:
        attempt()
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "a session and a group of its own",
        &["wrong"],
        r"
import os
won = 0
for attempt in (lambda: os.setpgid(0, 0), lambda: os.setpgid(os.getppid(), 0), lambda: os.setsid()):
    try:
        attempt()
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "memory is locked",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
room = ctypes.create_string_buffer(1 << 16)
won = c.mlock(room, 1 << 16) == 0 or c.mlockall(3) == 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
];

#[test]
fn no_other_process_is_reached_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn no_other_process_is_reached_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
