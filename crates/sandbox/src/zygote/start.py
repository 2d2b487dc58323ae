"""Has the zygote's program compiled in a process of its own, and runs it here.

A compiler takes several times what it makes, and an interpreter keeps the syntax tree of the file
that it runs: every child would begin with a copy of the page tables of both.
"""

import sys

# The folder that this is started in is no place to import from.
del sys.path[0]

import marshal
import os

reading, writing = os.pipe()
compiler = os.fork()
if compiler == 0:
    # Who waits at their other ends is to see at once that the zygote is gone, if it is.
    os.close(reading)
    os.close(int(sys.argv[1]))
    with open(sys.argv[4], "rb") as source, open(writing, "wb") as code:
        code.write(marshal.dumps(compile(source.read(), "zygote.py", "exec")))
    os._exit(0)
os.close(writing)
with open(reading, "rb") as code:
    program = marshal.loads(code.read())
os.waitpid(compiler, 0)
exec(program)
