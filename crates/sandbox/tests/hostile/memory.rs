//! Memory, output and disk: each is bounded, and what a program says is bounded too.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold, stdio};

pub(crate) const CASES: &[Case] = &[
    call("too much at once", &["memory"], "block = bytearray(10 ** 10)\n"),
    call(
        "too much, bit by bit",
        &["memory"],
        "held = []\nwhile True: held.append(b'x' * (1 << 20))\n",
    ),
    call("a list that is too long", &["memory"], "def gap(a, b): return [0] * 10 ** 9\n"),
    call(
        "text that doubles",
        &["memory"],
        "def gap(a, b):\n    text = 'x'\n    while True: text += text\n",
    ),
    call(
        "many small things",
        &["memory", "timeout"],
        "def gap(a, b):\n    held = {}\n    while True: held[len(held)] = [object()]\n",
    )
    .burns(),
    call(
        "the error about memory is swallowed",
        &["memory", "timeout", "wrong", "raised"],
        r"
def gap(a, b):
    held = []
    for _ in range(10000):
        try: held.append(bytearray(1 << 20))
        except MemoryError: pass
    return -1
",
    )
    .burns(),
    call(
        "memory that is shared",
        &["load_error", "memory", "timeout"],
        r"
import mmap
held = []
while True:
    one = mmap.mmap(-1, 64 << 20)
    one[:] = b'x' * len(one)
    held.append(one)
",
    )
    .burns(),
    call(
        "a file in memory",
        &["load_error PermissionError"],
        "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, b'x' * (1 << 20))\n",
    ),
    call(
        "memory of the kernel, through pipes",
        &["wrong"],
        r"
import os
ends = []
try:
    while True:
        ends.append(os.pipe())
        os.set_blocking(ends[-1][1], False)
        os.write(ends[-1][1], b'x' * (1 << 20))
except OSError: pass
def gap(a, b): return -len(ends)
",
    ),
    call(
        "memory of the kernel, through sockets",
        &["wrong"],
        r"
import socket
ends = []
try:
    while True:
        pair = socket.socketpair()
        pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        pair[0].setblocking(False)
        ends.append(pair)
        while True:
            pair[0].send(b'x' * (1 << 16))
except OSError: pass
def gap(a, b): return -1
",
    ),
    call(
        "processes without end",
        &["load_error PermissionError"],
        "import os\nwhile True: os.fork()\n",
    ),
    call(
        "threads without end",
        // Each start waits for its thread: on a busy machine time may be over before room is.
        &["load_error", "memory", "timeout"],
        r"
import threading
threading.stack_size(1 << 16)
while True: threading.Thread(target=threading.Event().wait, daemon=True).start()
",
    ),
    call(
        "open files without end",
        &["load_error OSError"],
        "held = []\nwhile True: held.append(open('/dev/null'))\n",
    ),
    call(
        "output without end",
        &["output", "timeout"],
        "import os\nwhile True: os.write(1, b'7\\n' * 65536)\n",
    ),
    call(
        "errors without end",
        &["output", "timeout"],
        "import sys\ndef gap(a, b):\n    while True: sys.stderr.write('7' * (1 << 20))\n",
    )
    .burns(),
    stdio(
        "a script without end",
        &["output", "timeout"],
        "while True: print('7\\n30\\n' * 65536)\n",
    ),
    stdio(
        "a script that complains without end",
        &["output", "timeout"],
        "import os\nprint(7)\nprint(30, flush=True)\nwhile True: os.write(2, b'x' * (1 << 16))\n",
    )
    .burns(),
    call(
        "an exception with a long text",
        &["raised ValueError"],
        "def gap(a, b): raise ValueError('x' * (50 << 20))\n",
    ),
    call(
        "an exception that leaves when it is shown",
        &["raised"],
        r"
import os
class Bad(Exception):
    def __str__(self): os._exit(0)
    __repr__ = __str__
def gap(a, b): raise Bad
",
    ),
    call(
        "an exception with a long name",
        &["raised"],
        "Bad = type('x' * (1 << 20), (Exception,), {})\ndef gap(a, b): raise Bad\n",
    ),
    call(
        "an exception whose name is no text",
        &["raised", "load_error"],
        r"
class Meta(type):
    @property
    def __name__(cls): raise SystemExit(0)
class Bad(Exception, metaclass=Meta): pass
def gap(a, b): raise Bad
",
    ),
    call(
        "an answer that is too long",
        &["unserialisable"],
        "def gap(a, b): return 'x' * (20 << 20)\n",
    ),
    call(
        "an answer with too many parts",
        &["unserialisable"],
        "def gap(a, b): return list(range(10 ** 6))\n",
    ),
    call(
        "an answer that is too deep",
        &["unserialisable"],
        "def gap(a, b):\n    x = 7\n    for _ in range(100000): x = [x]\n    return x\n",
    ),
    call(
        "an answer deeper than values may be",
        &["wrong", "unserialisable"],
        "def gap(a, b):\n    x = 7\n    for _ in range(100): x = (x,)\n    return x\n",
    ),
    call(
        "an answer that holds itself",
        &["unserialisable"],
        "def gap(a, b):\n    x = []\n    x.append(x)\n    return x\n",
    ),
    call(
        "an answer that holds itself by name",
        &["unserialisable"],
        "def gap(a, b):\n    x = {}\n    x['x'] = x\n    return x\n",
    ),
    call(
        "an answer that grows when it is unfolded",
        &["unserialisable", "memory", "timeout"],
        "def gap(a, b):\n    x = [7]\n    for _ in range(40): x = [x, x]\n    return x\n",
    )
    .burns(),
    call(
        "a number of many digits",
        &["wrong", "unserialisable"],
        "def gap(a, b): return 1 << (1 << 22)\n",
    ),
    call(
        "a number of too many digits",
        &["unserialisable"],
        "def gap(a, b): return 1 << (1 << 27)\n",
    ),
    call(
        "numbers that all hash alike",
        &["wrong"],
        "def gap(a, b): return {k * (2 ** 61 - 1) for k in range(1, 1500)}\n",
    ),
    call(
        "texts as keys, very many",
        &["wrong", "unserialisable"],
        "def gap(a, b): return {str(k): k for k in range(40000)}\n",
    ),
    call(
        "a disk that is filled",
        &["load_error OSError", "wrong", "output"],
        r"
import os
for number in range(6):
    with open(f'fill{number}', 'wb') as file:
        for _ in range(15): file.write(b'x' * (1 << 20))
def gap(a, b): return -1
",
    ),
    call(
        "a file that is too long",
        &["load_error OSError"],
        "with open('long', 'wb') as file:\n    file.truncate(1 << 40)\n",
    ),
    call(
        "files without end",
        &["load_error OSError", "timeout", "wrong", "output"],
        "import os\nfor number in range(6000): os.close(os.open(f'f{number}', os.O_CREAT | os.O_WRONLY))\ndef gap(a, b): return -1\n",
    ),
    call(
        "a tree that is hard to take away",
        // Folders in folders without measure count as too much where the folder is outside.
        &["wrong", "load_error", "output"],
        r"
import os
for depth in range(1500):
    os.mkdir('d')
    os.chdir('d')
open('\n\x01', 'w').close()
os.chmod('.', 0)
def gap(a, b): return -1
",
    ),
    call(
        "files and folders that nobody may touch",
        &["wrong"],
        r"
import os
for name in ('-rf', '*', 'a\nb', '\udcff'):
    os.makedirs(name + '/x')
    open(name + '/x/y', 'w').close()
    os.chmod(name + '/x', 0)
    os.chmod(name, 0)
def gap(a, b): return -1
",
    ),
    call(
        "memory of the machine, by name",
        &["load_error"],
        "with open('/dev/shm/whet-test', 'wb') as file:\n    while True: file.write(b'x' * (1 << 20))\n",
    ),
];

#[test]
fn space_runs_out_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn space_runs_out_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
