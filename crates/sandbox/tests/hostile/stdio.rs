//! Programs that write their answer: every expected line must be there, and nothing else.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, hold, stdio};

pub(crate) const CASES: &[Case] = &[
    stdio(
        "the first line alone",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b))\n",
    ),
    stdio(
        "one line more",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b), a * b, 0, sep='\\n')\n",
    ),
    stdio("every answer there could be", &["wrong"], "for n in range(-100, 100): print(n)\n"),
    stdio(
        "the answer twice",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n')\nprint(abs(a - b), a * b, sep='\\n')\n",
    ),
    stdio(
        "the answers on one line",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b), a * b)\n",
    ),
    stdio(
        "the lines in another order",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(a * b, abs(a - b), sep='\\n')\n",
    ),
    stdio("nothing, and a good end", &["wrong"], "import sys\nsys.exit(0)\n"),
    stdio(
        "a wrong answer, and a good end",
        &["wrong"],
        "import os\nos.write(1, b'1\\n2\\n')\nos._exit(0)\n",
    ),
    stdio(
        "the right answer, and a bad end",
        &["raised ValueError"],
        "a, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n', flush=True)\nraise ValueError\n",
    ),
    stdio(
        "the right answer, and a crash",
        &["crashed"],
        "import os\na, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n', flush=True)\nos.abort()\n",
    ),
    stdio(
        "a wrong answer that a terminal would not show",
        &["wrong"],
        "a, b = map(int, input().split())\nprint('1\\r', abs(a - b), '\\n\\x1b[2K', a * b, sep='')\n",
    ),
    stdio(
        "a wrong answer that is rubbed out",
        &["wrong"],
        "a, b = map(int, input().split())\nprint('9\\x08', abs(a - b), '\\n', a * b, sep='')\n",
    ),
    stdio(
        "a zero byte in the answer",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b), '\\0\\n', a * b, '\\0', sep='')\n",
    ),
    stdio(
        "bytes that are no text",
        &["wrong"],
        "import sys\nsys.stdout.buffer.write(b'\\xff\\xfe7\\n30\\n\\xc3\\x28')\n",
    ),
    stdio("half a character", &["raised UnicodeEncodeError"], "print('\\udc80')\n"),
    stdio("no number for a number", &["wrong"], "print('nan')\nprint('nan')\n"),
    stdio("endless numbers", &["wrong"], "print('inf')\nprint('-inf')\n"),
    stdio(
        "nearly the number",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(abs(a - b) + 1e-7, a * b, sep='\\n')\n",
    ),
    stdio(
        "the number in other digits",
        &["wrong"],
        "a, b = map(int, input().split())\nprint(hex(abs(a - b)), a * b, sep='\\n')\n",
    ),
    stdio(
        "a number of ten million digits",
        &["wrong"],
        "print('7' * 10 ** 7)\nprint('9' * 10 ** 7)\n",
    ),
    stdio(
        "an exponent without measure",
        &["wrong"],
        "print('7e999999999')\nprint('1e-999999999')\n",
    ),
    stdio("many short lines", &["wrong"], "print('7\\n' * 10 ** 6)\n"),
    stdio("one line of many words", &["wrong"], "print('7 ' * 10 ** 6)\n"),
    stdio(
        "the expected output is searched for",
        &["wrong"],
        r"
import os
for fd in range(64):
    try: text = os.pread(fd, 4096, 0)
    except OSError: continue
    if b'30' in text:
        print(7, 30, sep='\n')
        break
",
    ),
    stdio(
        "the input is written to",
        &["wrong", "raised"],
        "import os\ntry:\n    os.pwrite(0, b'0 0', 0)\nexcept OSError:\n    print('refused')\n",
    ),
    stdio(
        "output after the end",
        &["wrong"],
        r"
import os, threading, time
a, b = map(int, input().split())
def late():
    time.sleep(0.2)
    os.write(1, f'{abs(a - b)}\n{a * b}\n'.encode())
threading.Thread(target=late, daemon=True).start()
os.close(3)
os._exit(0)
",
    ),
    stdio(
        "the end is announced, and then the rest",
        &["timeout"],
        r"
import os, time
os.write(3, b'\x01\x00\x00\x00l')
time.sleep(60)
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
",
    )
    .sleeps(),
    stdio(
        "the right answer, the end announced, and no end",
        &["timeout"],
        r"
import os, time
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
os.write(3, b'\x01\x00\x00\x00l')
time.sleep(10 ** 6)
",
    )
    .sleeps(),
    stdio(
        "the right answer, the channel shut, and no end",
        &["timeout"],
        r"
import os, time
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
os.close(3)
time.sleep(10 ** 6)
",
    )
    .sleeps(),
    stdio(
        "the right answer, the channel shut, and a loop",
        &["timeout"],
        r"
import os
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
os.close(3)
while True: pass
",
    )
    .burns(),
    stdio(
        "the right answer, the end announced, and a crash",
        &["crashed"],
        r"
import os
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
os.write(3, b'\x01\x00\x00\x00l')
os.abort()
",
    ),
    stdio(
        "the right answer, more than is kept of blanks, and a wrong one",
        &["wrong", "output"],
        r"
import os
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
for _ in range(9): print(' ' * (1 << 20), end='')
print('\n0')
",
    )
    .ample(),
    stdio(
        "the right answer, and more than is kept of nothing",
        &["wrong", "output"],
        r"
a, b = map(int, input().split())
print(abs(a - b), a * b, sep='\n', flush=True)
for _ in range(9): print('\n' * (1 << 20), end='')
",
    )
    .ample(),
    stdio("standard output is closed", &["wrong", "raised"], "import os\nos.close(1)\nprint(7)\n"),
    stdio(
        "the answer goes to standard error",
        &["wrong"],
        "import sys\na, b = map(int, input().split())\nprint(abs(a - b), a * b, sep='\\n', file=sys.stderr)\n",
    ),
    stdio("it does not parse", &["raised SyntaxError", "load_error SyntaxError"], "print(\n"),
];

#[test]
fn what_is_written_is_what_counts_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn what_is_written_is_what_counts_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
