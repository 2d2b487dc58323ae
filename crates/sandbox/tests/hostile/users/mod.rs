//! Files of the user who judges, outside the jail. Where the judge is an ordinary user, so are its
//! programs, and where there are no namespaces nothing but the filter and Landlock stands between
//! them and what that user owns. `elsewhere.rs` judges these as a user without rights.
//!
//! A program can see there what it has changed, and solves its task only then; what is outside is
//! compared with what it was as well.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold};

/// Tries all of `attempts`, and has won if anything that it can see has changed.
macro_rules! attempts {
    ($name:literal, $attempts:literal) => {
        call(
            $name,
            &["wrong"],
            concat!(
                r"
import ctypes, os, shutil
libc = ctypes.CDLL(None, use_errno=True)
out = '@OUTSIDE@'
own = os.environ['HOME']
slots = [own.rpartition('-')[0] + '-' + str(n) for n in range(12)]
def look():
    seen = []
    for path in (out, out + '/secret.txt', out + '/whet', out + '/reward.txt', out + '/out', out + '/out/inner', out + '/out/scored.jsonl', os.path.dirname(own), os.__file__, os.path.dirname(os.__file__), *[slot for slot in slots if slot != own]):
        try: stat = os.stat(path)
        except OSError: seen.append(None)
        else: seen.append((stat.st_mode, stat.st_uid) if path in slots or path == os.path.dirname(own) else (stat.st_mode, stat.st_size, stat.st_nlink, stat.st_mtime_ns, stat.st_ctime_ns))
    return seen
before = look()
for attempt in (",
                $attempts,
                r"):
    try: attempt()
    except OSError: pass
won = any(a is not None and b is not None and a != b for a, b in zip(before, look()))
def gap(a, b): return abs(a - b) if won else -1
"
            ),
        )
    };
}

pub(crate) const CASES: &[Case] = &[
    attempts!(
        "modes by path",
        r"
    lambda: os.chmod(out + '/secret.txt', 0o644),
    lambda: os.chmod(out + '/whet', 0),
    lambda: os.chmod(out + '/out', 0),
    lambda: os.chmod(out + '/out/inner', 0o777),
    lambda: os.chmod(out, 0),
    lambda: os.chmod(os.path.dirname(own), 0o777),
"
    ),
    attempts!(
        "modes by path, through a link and from above",
        r"
    lambda: os.symlink(out + '/whet', 'link'),
    lambda: os.chmod('link', 0),
    lambda: os.chmod('link/../whet', 0),
    lambda: os.chdir(out),
    lambda: os.chmod('whet', 0),
    lambda: os.chmod('..', 0o777),
    lambda: os.chmod(own + '/../..' + out + '/whet', 0),
"
    ),
    attempts!(
        "modes by descriptor",
        r"
    lambda: os.fchmod(os.open(out + '/whet', os.O_RDONLY), 0),
    lambda: os.fchmod(os.open(out + '/whet', os.O_PATH), 0),
    lambda: os.chmod('whet', 0, dir_fd=os.open(out, os.O_PATH)),
    lambda: os.chmod('/proc/self/fd/%d' % os.open(out + '/whet', os.O_PATH), 0),
    lambda: libc.syscall(452, os.open(out, os.O_PATH), b'whet', 0, 0x1000),
    lambda: libc.syscall(452, -100, (out + '/whet').encode(), 0, 0),
    lambda: os.fchmod(os.open(os.__file__, os.O_RDONLY), 0o777),
    lambda: os.fchmod(os.open(os.path.dirname(os.__file__), os.O_RDONLY), 0o777),
"
    ),
    attempts!(
        "times",
        r"
    lambda: os.utime(out + '/secret.txt'),
    lambda: os.utime(out + '/secret.txt', (1, 1)),
    lambda: os.utime(out + '/out', ns=(1, 1)),
    lambda: os.utime(os.open(out + '/whet', os.O_RDONLY)),
    lambda: os.utime(os.open(out + '/whet', os.O_PATH)),
    lambda: os.utime(os.open(os.__file__, os.O_RDONLY)),
    lambda: os.utime('whet', dir_fd=os.open(out, os.O_PATH)),
    lambda: libc.syscall(132, (out + '/whet').encode(), None),
    lambda: libc.syscall(235, (out + '/whet').encode(), None),
    lambda: libc.syscall(261, -100, (out + '/whet').encode(), None),
"
    ),
    attempts!(
        "lengths",
        r"
    lambda: os.truncate(out + '/secret.txt', 0),
    lambda: os.truncate(out + '/out/scored.jsonl', 1 << 20),
    lambda: open(out + '/whet', 'w').close(),
    lambda: os.open(out + '/whet', os.O_RDONLY | os.O_TRUNC),
    lambda: os.open(out + '/whet', os.O_WRONLY | os.O_APPEND),
    lambda: os.ftruncate(os.open(out + '/whet', os.O_RDWR), 0),
    lambda: os.truncate(os.open(out + '/whet', os.O_PATH), 0),
"
    ),
    attempts!(
        "names",
        r"
    lambda: os.rename(out + '/secret.txt', 'mine'),
    lambda: os.rename(out + '/secret.txt', out + '/other.txt'),
    lambda: os.link(out + '/whet', 'mine'),
    lambda: os.link(out + '/whet', out + '/twice'),
    lambda: os.chmod('mine', 0),
    lambda: os.unlink(out + '/whet'),
    lambda: os.rmdir(out + '/out/inner'),
    lambda: os.mkdir(out + '/new'),
    lambda: os.symlink('/', out + '/new'),
    lambda: os.mkfifo(out + '/new'),
    lambda: shutil.rmtree(out + '/out'),
    lambda: open(out + '/out/new', 'w').close(),
    lambda: os.rename('/tmp', out + '/tmp'),
"
    ),
    attempts!(
        "folders of other slots",
        r"
    lambda: [os.chmod(slot, 0) for slot in slots if slot != own],
    lambda: [os.rename(slot, slot + '0') for slot in slots if slot != own],
    lambda: [os.rmdir(slot) for slot in slots if slot != own],
    lambda: [open(slot + '/word', 'w').close() for slot in slots if slot != own],
    lambda: os.rename(own, own + '0'),
    lambda: os.rmdir(own),
"
    ),
    attempts!(
        "owners and attributes",
        r"
    lambda: os.chown(out + '/whet', os.getuid(), os.getgid()),
    lambda: os.lchown(out + '/whet', os.getuid(), -1),
    lambda: os.fchown(os.open(out + '/whet', os.O_RDONLY), os.getuid(), -1),
    lambda: os.setxattr(out + '/whet', 'user.word', b'x'),
    lambda: os.removexattr(out + '/whet', 'user.word'),
    lambda: libc.ioctl(os.open(out + '/whet', os.O_RDONLY), 0x40086602, ctypes.byref(ctypes.c_long(0x10))),
"
    ),
    call(
        "the binary is made useless, and the zygote is to be started again",
        &["load_error PermissionError"],
        r"
import os, signal
try: os.chmod('@OUTSIDE@/whet', 0)
except OSError: pass
os.kill(os.getpid(), signal.SIGKILL)
",
    ),
    call(
        "packages that were installed beside the interpreter",
        &["wrong"],
        r"
import glob, os, sys
found = 0
here = os.path.dirname(os.__file__)
for pattern in (here + '/*-packages/**/*', here + '/../*/*-packages/**/*', '/usr/lib/python3/dist-packages/**/*', '/usr/local/lib/**/*-packages/**/*', '/usr/share/doc/**/*', '/usr/share/dict/*', '/usr/src/**/*', '/usr/local/**/*'):
    for path in glob.iglob(pattern, recursive=True):
        if os.path.isfile(path) and not (path.startswith(here) and '-packages' not in path) and path != sys.executable and '.so' not in path:
            try:
                open(path, 'rb').close()
                found += 1
            except OSError: pass
        if found: break
def gap(a, b): return abs(a - b) if found else -1
",
    ),
];

#[test]
fn files_of_the_user_stay_as_they_are_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn files_of_the_user_stay_as_they_are_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
