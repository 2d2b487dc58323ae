//! Honest programs of awkward habits: each must pass.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold, stdio};

const PASS: &[&str] = &["pass"];

pub(crate) const CASES: &[Case] = &[
    call("plain", PASS, "def gap(a, b):\n    return abs(a - b)\n"),
    call(
        "a future import, a title and a main guard",
        PASS,
        r#"
"""Gaps."""
from __future__ import annotations

def gap(a: int, b: int) -> Unknown:
    return abs(a - b)

if __name__ == "__main__":
    print(gap(int(input()), int(input())))
"#,
    ),
    call("a mark of byte order and line ends of another system", PASS, "\u{feff}def gap(a, b):\r\n    return abs(a - b)\r\n"),
    call("a coding cookie", PASS, "# -*- coding: latin-1 -*-\nname = 'ü'\ndef gap(a, b): return abs(a - b) + len(name) - 1\n"),
    call("tabs and no line end", PASS, "def gap(a, b):\n\treturn abs(a - b)"),
    call(
        "it prints while it works",
        PASS,
        "import sys\nprint('loading')\ndef gap(a, b):\n    print(a, b)\n    print('!', file=sys.stderr)\n    return abs(a - b)\n",
    ),
    call("it prints much", PASS, "def gap(a, b):\n    print('x' * (1 << 20))\n    return abs(a - b)\n").ample(),
    call(
        "it knows its file and its arguments",
        PASS,
        "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\ndef gap(a, b): return abs(a - b) if len(sys.argv) == 1 and here else -1\n",
    ),
    call(
        "classes of many kinds, copied and pickled",
        PASS,
        r"
import copy, dataclasses, enum, pickle, typing
@dataclasses.dataclass(order=True)
class Pair:
    a: int
    b: int = 0
class Sign(enum.Enum):
    UP = 1
class Named(typing.NamedTuple):
    x: int
def gap(a, b):
    pair = pickle.loads(pickle.dumps(copy.deepcopy(Pair(a, b))))
    typing.get_type_hints(Pair)
    return abs(pair.a - pair.b) * Sign.UP.value * Named(1).x
",
    ),
    call("deep recursion", PASS, "import sys\nsys.setrecursionlimit(20000)\ndef down(n): return 0 if n == 0 else 1 + down(n - 1)\ndef gap(a, b): return abs(a - b) + down(9000) - 9000\n"),
    call(
        "a thread with a large stack",
        PASS,
        r"
import sys, threading
threading.stack_size(64 << 20)
sys.setrecursionlimit(100000)
def down(n): return 0 if n == 0 else 1 + down(n - 1)
found = []
one = threading.Thread(target=lambda: found.append(down(15000)))
one.start()
one.join()
def gap(a, b): return abs(a - b) + found[0] - 15000
",
    )
    .ample(),
    call(
        "files of its own",
        PASS,
        r"
import os, shutil, tempfile
def gap(a, b):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, 'a'), 'w') as file: file.write(str(abs(a - b)))
        shutil.copy2(os.path.join(folder, 'a'), os.path.join(folder, 'b'))
        os.rename(os.path.join(folder, 'b'), os.path.join(folder, 'c'))
        with open(os.path.join(folder, 'c')) as file: return int(file.read())
",
    ),
    call(
        "an alarm of its own",
        PASS,
        r"
import signal, time
def ring(*_): raise TimeoutError
signal.signal(signal.SIGALRM, ring)
def gap(a, b):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try: time.sleep(5)
    except TimeoutError: return abs(a - b)
",
    ),
    call("much memory, honestly", PASS, "block = bytearray(200 << 20)\nblock[::4096] = b'x' * len(block[::4096])\ndef gap(a, b): return abs(a - b)\n").ample(),
    call("sets in an order that does not change", PASS, "words = list({'a', 'b', 'c', 'd'})\ndef gap(a, b): return abs(a - b) if words == list({'a', 'b', 'c', 'd'}) else -1\n"),
    call(
        "an event loop",
        PASS,
        r"
import asyncio
async def later(a, b):
    await asyncio.sleep(0.001)
    return await asyncio.get_running_loop().run_in_executor(None, lambda: abs(a - b))
def gap(a, b): return asyncio.run(later(a, b))
",
    )
    .ample(),
    call(
        "a pool of threads",
        PASS,
        "from concurrent.futures import ThreadPoolExecutor\ndef gap(a, b):\n    with ThreadPoolExecutor(4) as pool: return abs(sum(pool.map(int, (a, -b))))\n",
    ),
    call("a thread is left", PASS, "import threading\nthreading.Thread(target=threading.Event().wait).start()\ndef gap(a, b): return abs(a - b)\n"),
    call("a lock is held at the end", PASS, "import atexit, threading\nlock = threading.Lock()\nlock.acquire()\natexit.register(lock.acquire)\ndef gap(a, b): return abs(a - b)\n"),
    call("a number of a kind of its own", PASS, "class N(int):\n    pass\ndef gap(a, b): return N(abs(a - b))\n"),
    call("a whole float", PASS, "def gap(a, b): return float(abs(a - b))\n"),
    call("a class of solutions", PASS, "class Solution:\n    def gap(self, a, b): return abs(a - b)\ngap = Solution().gap\n"),
    call("many imports", PASS, "import argparse, base64, calendar, csv, difflib, hashlib, html, inspect, logging, pathlib, pprint, secrets, sqlite3, struct, textwrap, unicodedata, uuid, zlib\ndef gap(a, b): return abs(a - b)\n").ample(),
    call("it remembers", PASS, "import functools\n@functools.lru_cache(None)\ndef gap(a, b): return abs(a - b)\n"),
    call("it catches its own errors", PASS, "def gap(a, b):\n    try: return [][a]\n    except IndexError: return abs(a - b)\n    finally: pass\n"),
    call(
        "deep recursion through a cache",
        PASS,
        "import functools, sys\nsys.setrecursionlimit(10 ** 6)\n@functools.lru_cache(None)\ndef down(n): return 0 if n == 0 else 1 + down(n - 1)\ndef gap(a, b): return abs(a - b) + down(20000) - 20000\n",
    )
    .ample(),
    call(
        "very deep recursion",
        PASS,
        "import sys\nsys.setrecursionlimit(10 ** 6)\ndef down(n): return 0 if n == 0 else 1 + down(n - 1)\ndef gap(a, b): return abs(a - b) + down(100000) - 100000\n",
    )
    .ample(),
    call("it prints very much", PASS, "def gap(a, b):\n    print('x' * (15 << 20))\n    return abs(a - b)\n").ample(),
    call("it waits a little", PASS, "import time\ndef gap(a, b):\n    time.sleep(0.2)\n    return abs(a - b)\n").ample(),
    call("it ignores signals and alarms", PASS, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.alarm(30)\ndef gap(a, b): return abs(a - b)\n"),
    call("it is random", PASS, "import random, secrets, uuid\ndef gap(a, b):\n    random.shuffle(list(range(9)))\n    uuid.uuid4()\n    return abs(a - b) + 0 * secrets.randbelow(9)\n"),
    call("it looks up its own class", PASS, "import inspect, sys\nclass K:\n    def f(self): return sys.modules[K.__module__].gap is gap\ndef gap(a, b): return abs(a - b) if K().f() else -1\n"),
    call("a long text as an answer does not matter in between", PASS, "cache = {}\ndef gap(a, b):\n    cache[a] = 'x' * (1 << 20)\n    return abs(a - b)\n"),
    call("it catches the end", PASS, "def gap(a, b):\n    try: raise SystemExit\n    except SystemExit: return abs(a - b)\n"),
    call("it changes its limits of digits and recursion", PASS, "import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(0)\ndef gap(a, b): return abs(a - b) + len(str(10 ** 9999)) - 10000\n"),
    call("a data base in a file, with locks", PASS, "import fcntl, sqlite3\ndef gap(a, b):\n    with sqlite3.connect('gaps.db') as base:\n        base.execute('create table if not exists gaps (a, b)')\n        base.execute('insert into gaps values (?, ?)', (a, b))\n    with open('lock', 'w') as file:\n        fcntl.flock(file, fcntl.LOCK_EX)\n        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n    return abs(a - b)\n").ample(),
    call("a data base with a log of its own", PASS, "import sqlite3\ndef gap(a, b):\n    base = sqlite3.connect('gaps.db')\n    mode = base.execute('pragma journal_mode = wal').fetchone()[0]\n    base.execute('create table if not exists gaps (gap)')\n    base.execute('insert into gaps values (?)', (abs(a - b),))\n    base.commit()\n    other = sqlite3.connect('gaps.db')\n    found = other.execute('select gap from gaps order by rowid desc').fetchone()[0]\n    other.close()\n    base.close()\n    return found if mode == 'wal' else -1\n").ample(),
    call("a pool of threads that looks like one of processes", PASS, "from multiprocessing.dummy import Pool\ndef gap(a, b):\n    with Pool(3) as pool: return sum(pool.map(lambda _: 1, range(abs(a - b))))\n").ample(),
    call("a pool of threads, by its other name", PASS, "from multiprocessing.pool import ThreadPool\nimport multiprocessing\nlock, ready = multiprocessing.Lock(), multiprocessing.Semaphore(2)\ndef one(_):\n    with lock, ready: return 1\ndef gap(a, b):\n    with ThreadPool(4) as pool: return sum(pool.imap(one, range(abs(a - b))))\n").ample(),
    call("files that are mapped and have no name", PASS, "import mmap, tempfile\ndef gap(a, b):\n    with tempfile.TemporaryFile() as file:\n        file.truncate(4 << 20)\n        memory = mmap.mmap(file.fileno(), 0)\n        memory[::4096] = bytes([abs(a - b)]) * 1024\n        return memory[4096]\n").ample(),
    call("twenty threads at once", PASS, "import threading, time\ndef gap(a, b):\n    found = []\n    threads = [threading.Thread(target=lambda: (time.sleep(0.05), found.append(1))) for _ in range(20)]\n    for one in threads: one.start()\n    for one in threads: one.join()\n    return abs(a - b) + len(found) - 20\n").ample(),
    call("files copied, linked, packed and unpacked", PASS, "import os, shutil, tarfile, tempfile, zipfile\ndef gap(a, b):\n    with tempfile.TemporaryDirectory() as folder:\n        os.chdir(folder)\n        os.mkdir('in')\n        open('in/a', 'w').close()\n        shutil.copytree('in', 'out')\n        shutil.copy('in/a', 'b')\n        with tarfile.open('t', 'w') as tar: tar.add('in')\n        with tarfile.open('t') as tar: tar.extractall('unpacked')\n        with zipfile.ZipFile('z', 'w') as z: z.write('b')\n        os.symlink('b', 'c')\n        os.chdir('/')\n        return abs(a - b)\n").ample(),
    call("time zones, and output to nowhere", PASS, "import contextlib, os, zoneinfo\nfrom datetime import datetime\ndef gap(a, b):\n    with open(os.devnull, 'w') as nowhere, contextlib.redirect_stdout(nowhere): print(a)\n    hour = datetime(2020, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset().seconds // 3600 if os.path.isdir('/usr/share/zoneinfo') else 2\n    return abs(a - b) + hour - 2\n").ample(),
    call("every module of the library that needs one of the system's", PASS, "import bz2, ctypes, hashlib, lzma, sqlite3, ssl, uuid, zlib, multiprocessing, curses\nhashlib.sha3_256(b'').digest()\ndef gap(a, b): return abs(a - b)\n").ample(),
    stdio("it shuts what it did not open, and goes on", PASS, "import os, time\nos.closerange(3, 64)\na, b = map(int, input().split())\ntime.sleep(0.5)\nprint(abs(a - b), a * b, sep='\\n')\n").ample(),
    stdio("many small writes", PASS, "import os\na, b = map(int, input().split())\nfor byte in f'{abs(a - b)}\\n{a * b}\\n' + 3000 * '\\n': os.write(1, byte.encode())\n"),
    stdio("read by line", PASS, "a, b = map(int, input().split())\nprint(abs(a - b))\nprint(a * b)\n"),
    stdio("read as bytes", PASS, "import sys\na, b = map(int, sys.stdin.buffer.read().split())\nsys.stdout.buffer.write(b'%d\\n%d' % (abs(a - b), a * b))\n"),
    stdio("read by descriptor", PASS, "import os\na, b = map(int, os.read(0, 100).split())\nos.write(1, f'{abs(a - b)}\\n{a * b}\\n'.encode())\n"),
    stdio("read as a file", PASS, "a, b = map(int, open(0).read().split())\nprint(abs(a - b), a * b, sep='\\n')\n"),
    stdio("read as a device", PASS, "import fileinput\nfor line in fileinput.input():\n    a, b = map(int, line.split())\n    print(abs(a - b), a * b, sep='\\n')\n"),
    stdio("`exit()` after the output", PASS, "a, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n')\nexit()\n"),
    stdio("blanks at the ends of lines", PASS, "a, b = map(int, input().split())\nprint(abs(a - b), ' \\n', a * b, '   \\n\\n', sep='')\n"),
    stdio("a main guard and a thread", PASS, "import threading\ndef main():\n    a, b = map(int, input().split())\n    print(abs(a - b), a * b, sep='\\n')\nif __name__ == '__main__':\n    threading.stack_size(128 << 20)\n    one = threading.Thread(target=main)\n    one.start()\n    one.join()\n").ample(),
    stdio("output in an exit hook", PASS, "import atexit\na, b = map(int, input().split())\natexit.register(lambda: print(a * b))\nprint(abs(a - b))\n"),
    stdio("output without a flush, and `os._exit` is not called", PASS, "import sys\na, b = map(int, sys.stdin.readline().split())\nsys.stdout.write(f'{abs(a - b)}\\n{a * b}')\n"),
    stdio("input that is left unread", PASS, "import sys\na, b = map(int, next(sys.stdin).split())\nprint(abs(a - b), a * b, sep='\\n')\nsys.stdin.close()\n"),
    stdio("a prompt is no answer, so there is none", PASS, "import sys\ndata = sys.stdin.read().split('\\n')\na, b = map(int, data[0].split())\nprint(*[abs(a - b), a * b], sep='\\n', end='\\n\\n')\n"),
    stdio("line ends of another system", PASS, "import sys\na, b = map(int, input().split())\nsys.stdout.write(f'{abs(a - b)}\\r\\n{a * b}\\r\\n')\n"),
    stdio("deep recursion in a script", PASS, "import sys\nsys.setrecursionlimit(10 ** 6)\ndef down(n): return 0 if n == 0 else 1 + down(n - 1)\na, b = map(int, input().split())\ndown(50000)\nprint(abs(a - b), a * b, sep='\\n')\n").ample(),
    stdio("`quit()` in a function, and an error on the other stream", PASS, "import sys\ndef main():\n    a, b = map(int, input().split())\n    print(abs(a - b), a * b, sep='\\n')\n    print('done', file=sys.stderr)\n    quit()\nmain()\n"),
    stdio("it reads to the end and beyond", PASS, "a, b = map(int, input().split())\ntry:\n    while True: input()\nexcept EOFError: pass\nprint(abs(a - b), a * b, sep='\\n')\n"),
    stdio("fast output", PASS, "import io, os, sys\ninput = io.BytesIO(os.read(0, os.fstat(0).st_size)).readline\nsys.stdout = io.StringIO()\na, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n')\nos.write(1, sys.stdout.getvalue().encode())\n"),
];

#[test]
fn honest_programs_pass_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn honest_programs_pass_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
