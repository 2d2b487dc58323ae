//! Escapes by way of the kernel: calls that no honest program needs, and the judge's own channels.

use whetstone_core::judgement::Isolation;

use crate::support::{Case, call, hold};

/// Each case tries; whoever succeeds solves the task.
pub(crate) const CASES: &[Case] = &[
    call(
        "a namespace of users",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
won = any(c.unshare(flags) == 0 for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x200, 0))
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "mounts",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
won = any(done == 0 for done in (
    c.mount(b'none', b'/tmp', b'tmpfs', 0, None), c.umount2(b'/tmp', 2), c.chroot(b'/tmp'),
    c.syscall(@NR_pivot_root@, b'.', b'.'), c.mount(None, b'/', None, 32 | 4096, None)))
won = won or any(c.syscall(n, b'tmpfs', 0, 0, 0, 0) >= 0 for n in (@NR_fsopen@, @NR_open_tree@, @NR_move_mount@, @NR_mount_setattr@))
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "rings that go round the filter",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
room = ctypes.create_string_buffer(256)
won = c.syscall(@NR_io_uring_setup@, 8, room) >= 0 or c.syscall(@NR_io_setup@, 8, room) >= 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "programs for the kernel, its keys, its faults and its counters",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
room = ctypes.create_string_buffer(256)
won = any(done >= 0 for done in (
    c.syscall(@NR_bpf@, 0, room, 128), c.syscall(@NR_keyctl@, 0, -3, 1), c.syscall(@NR_add_key@, b'user', b'x', b'y', 1, -3),
    c.syscall(@NR_userfaultfd@, 1), c.syscall(@NR_perf_event_open@, room, 0, -1, -1, 0),
    c.syscall(@NR_fanotify_init@, 0, 0), c.syscall(@NR_memfd_secret@, 0), c.syscall(@NR_inotify_init1@, 0)))
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "the memory of others",
        &["wrong"],
        r"
import ctypes, os
c = ctypes.CDLL(None)
won = c.ptrace(16, os.getppid(), 0, 0) == 0 or c.ptrace(0, 0, 0, 0) == 0
room = ctypes.create_string_buffer(64)
part = (ctypes.c_size_t * 2)(ctypes.addressof(room), 8)
for pid in (os.getpid(), os.getppid(), 1, @JUDGE@):
    won = won or c.process_vm_readv(pid, part, 1, part, 1, 0) > 0 or c.process_vm_writev(pid, part, 1, part, 1, 0) > 0
    won = won or c.syscall(@NR_pidfd_open@, pid, 0) >= 0 or c.syscall(@NR_kcmp@, pid, pid, 0, 0, 0) >= 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "objects of System V",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
won = any(done >= 0 for done in (c.shmget(0x77686574, 4096, 0o1666), c.semget(0x77686574, 1, 0o1666), c.msgget(0x77686574, 0o1666)))
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "queues and shared memory with names",
        &["wrong"],
        r"
import ctypes, os
won = ctypes.CDLL(None).syscall(@NR_mq_open@, b'whet-test', os.O_CREAT | os.O_RDWR, 0o666, None) >= 0
try:
    from multiprocessing import shared_memory
    shared_memory.SharedMemory('whet-test', create=True, size=4096)
    won = True
except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "another user",
        &["wrong"],
        r"
import os
won = 0
for attempt in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0), lambda: os.chown('.', 0, 0), lambda: os.setreuid(os.getuid(), 0)):
    try:
        attempt()
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won or os.geteuid() == 0 else -1
",
    ),
    call(
        "capabilities, a filter of its own, and being dumped",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)
won = c.capset(header, sets) == 0 or any(c.prctl(*args) == 0 for args in ((4, 1, 0, 0, 0), (1, 0, 0, 0, 0), (24, 21, 0, 0, 0), (36, 1, 0, 0, 0), (35, 0, 0, 0, 0), (8, 1, 0, 0, 0)))
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "devices",
        &["wrong"],
        r"
import os, stat
won = 0
for attempt in (lambda: os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(8, 0)), lambda: os.mknod('mem', stat.S_IFCHR | 0o600, os.makedev(1, 1)), lambda: os.mkfifo('pipe')):
    try:
        attempt()
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "files by their handles",
        &["wrong"],
        r"
import ctypes
c = ctypes.CDLL(None)
handle = (ctypes.c_uint32 * 34)(128)
mount = ctypes.c_int()
won = c.name_to_handle_at(-100, b'/', handle, ctypes.byref(mount), 0) == 0 or c.open_by_handle_at(0, handle, 0) >= 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "words put into a terminal",
        &["wrong"],
        r"
import fcntl, os
won = 0
for fd in (0, 1, 2, 3):
    for request in (0x5412, 0x541c, 0x540e, 0x5422):
        try:
            fcntl.ioctl(fd, request, b'x')
            won += 1
        except OSError: pass
for path in ('/dev/tty', '/dev/ptmx', '/dev/console'):
    try:
        os.open(path, os.O_RDWR)
        won += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "descriptors that were forgotten",
        &["wrong"],
        r"
import os, socket
found = 0
for fd in range(4, 1024):
    try:
        os.fstat(fd)
        found += 1
    except OSError: pass
def gap(a, b): return abs(a - b) if found else -1
",
    ),
    call(
        "the zygote is asked for children over the channel",
        &["load_error", "raised", "wrong"],
        r"
import array, os, socket, struct
order = struct.pack('<II7Q', 0x77686574, 1, 9, 1 << 30, 1 << 34, 1 << 30, 1 << 26, 64, 1 << 30)
for fd in (3, 10, 11, 12):
    try: os.write(fd, order)
    except OSError: pass
def gap(a, b): return -1
",
    ),
    call(
        "the jail's own code is called again",
        &["wrong", "load_error", "timeout"],
        r"
import ctypes
try: ctypes.CDLL('/jail.so').whet_serve(3, 0, None, None, None)
except (OSError, AttributeError): pass
def gap(a, b): return -1
",
    )
    .sleeps(),
    call(
        "system calls of another word length",
        if cfg!(target_arch = "x86_64") { &["crashed 31"] } else { &["wrong"] },
        r"
import ctypes
ctypes.CDLL(None).syscall(0x40000000 + 39)
def gap(a, b): return -1
",
    ),
    call(
        "system calls of a 32-bit program",
        if cfg!(target_arch = "x86_64") {
            &["crashed 31", "crashed 11"]
        } else {
            &["wrong", "crashed"]
        },
        r"
import ctypes, mmap
code = b'\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3'
room = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE, 7)
room.write(code)
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(room)))()
def gap(a, b): return -1
",
    ),
    call(
        "another personality",
        &["wrong"],
        r"
import ctypes
won = ctypes.CDLL(None).personality(0x0040000) >= 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
    call(
        "the clock and the name of the machine",
        &["wrong"],
        r"
import ctypes, socket, time
won = 0
for attempt in (lambda: time.clock_settime(time.CLOCK_REALTIME, 0), lambda: socket.sethostname('x')):
    try:
        attempt()
        won += 1
    except OSError: pass
won += ctypes.CDLL(None).syscall(@NR_reboot@, 0, 0, 0) == 0
def gap(a, b): return abs(a - b) if won else -1
",
    ),
];

#[test]
fn the_kernel_gives_no_way_out_at_full() {
    hold(Isolation::Full, CASES);
}

#[test]
fn the_kernel_gives_no_way_out_at_landlock() {
    hold(Isolation::Landlock, CASES);
}
