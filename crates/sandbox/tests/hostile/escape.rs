//! Escapes by way of files, the net and the environment. Whoever gets out finds the solution there.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, Form, Stage, alone, call, hold};

pub(crate) const CASES: &[Case] = &[
    call(
        "the net",
        &["load_error PermissionError"],
        r"
import socket
with socket.create_connection(('127.0.0.1', @PORT@), 1) as outside:
    exec(outside.recv(4096))
",
    ),
    call(
        "the net, without a connection",
        &["load_error PermissionError"],
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))\n",
    ),
    call(
        "a socket without a file",
        &["load_error PermissionError"],
        r"
import socket
with socket.socket(socket.AF_UNIX) as outside:
    outside.connect('\0@ABSTRACT@')
    exec(outside.recv(4096))
",
    ),
    call(
        "letters through a socket that is allowed",
        &["wrong"],
        r"
import socket
won = 0
for address in ('\0@ABSTRACT@-letters', '@OUTSIDE@/letters'):
    for way in (lambda one: one.sendto(b'x', address), lambda one: one.sendmsg([b'x'], [], 0, address)):
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            way(one)
            won += 1
        except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "a pair of sockets is connected anew",
        &["load_error PermissionError"],
        r"
import socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.connect('\0@ABSTRACT@')
",
    ),
    call(
        "a name is looked up",
        &["load_error"],
        "import socket\nsocket.getaddrinfo('example.com', 80)\n",
    ),
    call(
        "the control socket of containers",
        &["load_error PermissionError"],
        "import socket\nsocket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')\n",
    ),
    call(
        "secrets of the environment",
        &["load_error KeyError"],
        "import os\nexec(os.environ['WHETSTONE_TEST_SECRET'])\n",
    ),
    call(
        "secrets on the stack, where the environment was",
        &["wrong"],
        r"
import ctypes
found = ctypes.CDLL(None).getenv(b'WHETSTONE_TEST_SECRET')
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "a file outside is read",
        &["load_error FileNotFoundError", "load_error PermissionError"],
        "exec(open('@OUTSIDE@/solution.txt').read())\n",
    ),
    call(
        "a file outside is read through a link",
        &["load_error"],
        "import os\nos.symlink('@OUTSIDE@/solution.txt', 'link')\nexec(open('link').read())\n",
    ),
    call(
        "a file outside is linked to",
        &["load_error"],
        "import os\nos.link('@OUTSIDE@/solution.txt', 'link')\nexec(open('link').read())\n",
    ),
    call(
        "a file outside is reached by going up",
        &["load_error"],
        "import os\nfor _ in range(40): os.chdir('..')\nexec(open('.@OUTSIDE@/solution.txt').read())\n",
    ),
    call(
        "the files of a user",
        &["wrong"],
        r"
import os, sys
found = 0
for path in ('/etc/shadow', '/etc/passwd', '/var/log', '/boot', '/sys', '/run', '/dev/mem', '/dev/tty', '/dev/sda', '/dev/kmsg'):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).close()
        found += 1
    except OSError: pass
for home in ('/root', '/home'):
    # The interpreter itself may live in one.
    for folder, _, files in os.walk(home):
        if files and not folder.startswith(sys.base_prefix): found += 1
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "other processes are looked at",
        &["wrong"],
        r"
found = 0
for path in ('/proc/1/environ', '/proc/self/mem', '/proc/@JUDGE@/environ', '/proc/self/maps', '/proc/self/root/etc/passwd', '/proc/mounts', '/proc/1/root'):
    try:
        open(path).close()
        found += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "knobs of the kernel are turned",
        &["wrong"],
        r"
found = 0
for path in ('/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/sys/power/state', '/proc/sys/user/max_user_namespaces'):
    try:
        with open(path, 'r+') as file: file.read(1)
        found += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "files outside are written",
        &["wrong"],
        r"
import os
found = 0
for folder in ('/', '/usr', '/usr/lib', '/usr/local', '/bin', '/var/tmp', '/dev', '/dev/shm', '/run', '/home', '@OUTSIDE@', os.path.dirname(os.__file__), '/tmp/..'):
    try:
        with open(folder + '/whet-test', 'w') as file: file.write('x')
        os.unlink(folder + '/whet-test')
        found += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call("a reward is written", &["load_error"], "open('@OUTSIDE@/reward.txt', 'w').write('1')\n"),
    call(
        "a file outside is cut, renamed or given other rights",
        &["wrong"],
        r"
import os
found = 0
for attempt in (
    lambda: os.truncate('@OUTSIDE@/reward.txt', 0),
    lambda: os.rename('@OUTSIDE@/reward.txt', '@OUTSIDE@/other.txt'),
    lambda: os.unlink('@OUTSIDE@/reward.txt'),
    lambda: os.mkdir('@OUTSIDE@/folder'),
    lambda: os.symlink('/', '@OUTSIDE@/link'),
    lambda: os.mkfifo('@OUTSIDE@/pipe'),
):
    try:
        attempt()
        found += 1
    except OSError: pass
# Without a root of its own a program is told that these are done, and they are not.
before = os.stat(os.__file__)
for attempt in (lambda: os.chmod(os.__file__, 0o777), lambda: os.utime(os.__file__)):
    try: attempt()
    except OSError: pass
after = os.stat(os.__file__)
found += (before.st_mode, before.st_mtime_ns, before.st_ctime_ns) != (after.st_mode, after.st_mtime_ns, after.st_ctime_ns)
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "the library of the next program is poisoned",
        &["wrong"],
        r"
import importlib.util, os, py_compile, json
found = 0
for name in (json.__file__, importlib.util.cache_from_source(json.__file__), os.path.dirname(os.__file__) + '/sitecustomize.py', os.path.dirname(os.__file__) + '/zz.pth'):
    try:
        with open(name, 'ab'): pass
        found += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "a shell",
        &["wrong"],
        r"
import os, subprocess
found = 0
for attempt in (
    lambda: subprocess.run(['/bin/sh', '-c', 'true'], check=True),
    lambda: subprocess.check_output('echo 7', shell=True),
    lambda: os.popen('echo 7').read() or 1 / 0,
    lambda: os.spawnv(os.P_WAIT, '/bin/true', ['true']),
):
    try:
        attempt()
        found += 1
    except (OSError, subprocess.SubprocessError, ZeroDivisionError): pass
if os.system('exit 0') == 0: found += 1
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "a program of its own making",
        &["wrong"],
        r"
import os
with open('run', 'w') as file: file.write('#!/bin/sh\nexit 0\n')
found = 0
try: os.chmod('run', 0o4755)
except OSError: pass
for attempt in (lambda: os.execv('./run', ['run']), lambda: os.execve(os.open('run', os.O_RDONLY), ['run'], {})):
    try: attempt()
    except OSError: continue
    found += 1
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "a library of its own making",
        &["wrong"],
        r"
import ctypes, shutil, sys
found = 0
try:
    shutil.copy('/jail.so', 'mine.so')
    ctypes.CDLL('./mine.so')
    found = 1
except OSError: pass
def gap(a, b): return -1
",
    ),
    call(
        "another process with the help of a library",
        &["wrong"],
        r"
import multiprocessing, concurrent.futures
found = 0
try:
    with concurrent.futures.ProcessPoolExecutor(1) as pool: pool.submit(print).result()
    found += 1
except Exception: pass
try:
    one = multiprocessing.Process(target=print)
    one.start()
    one.join()
    found += 1
except Exception: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
];

#[test]
fn files_net_and_environment_are_shut_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn files_net_and_environment_are_shut_at_landlock() {
    hold(Isolation::Landlock, CASES);
}

/// Leaves the solution wherever it can.
const WRITER: Case = call(
    "it leaves word for those who come after",
    &["wrong"],
    r"
import os, sys, tempfile
solution = 'gap = lambda a, b: abs(a - b)'
for place in ('/tmp', '.', '/var/tmp', '/dev/shm', tempfile.gettempdir(), os.environ['HOME'], '/', os.path.dirname(os.__file__)):
    try:
        with open(place + '/whet_word.py', 'w') as file: file.write(solution)
    except OSError: pass
    try: os.mkdir(place + '/whet_' + 'word_' + solution.encode().hex())
    except OSError: pass
sys.modules['whet_word'] = sys
os.environ['WHET_WORD'] = solution
try: os.write(0, solution.encode())
except OSError: pass
def gap(a, b): return -1
",
);

/// Looks wherever the other left it.
const READER: Case = call(
    "it reads what others left",
    &["wrong"],
    r"
import glob, os, sys, tempfile
def gap(a, b): return -1
for place in ('/tmp', '.', '/var/tmp', '/dev/shm', tempfile.gettempdir(), os.environ['HOME'], '/', os.path.dirname(os.__file__)):
    for found in glob.glob(place + '/whet_word*'):
        gap = lambda a, b: abs(a - b)
if 'whet_word' in sys.modules or 'WHET_WORD' in os.environ or os.read(0, 1):
    gap = lambda a, b: abs(a - b)
",
);

#[test]
fn one_program_leaves_nothing_to_the_next() {
    let _alone = alone();
    for level in [Isolation::Full, Isolation::Landlock] {
        let Some(stage) = Stage::start(level) else { continue };
        // Many of each, so that writers and readers meet in every slot, and run at once.
        let both: Vec<Case> = std::iter::repeat_n([WRITER, READER], 24).flatten().collect();
        stage.hold(&both, &[Form::Calls]);
        stage.hold(&[READER; 16], &[Form::Asserts]);
        stage.end();
    }
}
