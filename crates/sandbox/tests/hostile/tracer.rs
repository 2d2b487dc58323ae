//! No rule of the list is unused: an honest program is watched outside the jail, and every call
//! that the list allows must be among those that it makes.

#![expect(unsafe_code, reason = "ptrace")]

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use whetstone_sandbox::filter::{FilterAction, NAMES, PROGRAM, SyscallRules};

use crate::support::{alone, python};

/// Lines that this machine's interpreter need not use, and who does.
const FOR_OTHERS: &[(&str, &str)] = &[
    ("clock_getres", "time.get_clock_info, where the kernel has no vDSO"),
    ("clone", "threads, once clone3 is refused as it is in the jail"),
    ("epoll_pwait", "epoll on architectures without epoll_wait"),
    ("faccessat", "os.access on architectures without access"),
    ("faccessat2", "os.access with effective ids"),
    ("fchmodat", "os.chmod on architectures without chmod"),
    ("fstat", "C libraries before 2.33"),
    ("getrlimit", "C libraries that do not use prlimit64"),
    ("gettimeofday", "time.time, where the kernel has no vDSO"),
    ("linkat", "os.link on architectures without link"),
    ("lstat", "C libraries before 2.33"),
    ("mkdirat", "os.mkdir on architectures without mkdir"),
    ("nanosleep", "C libraries before 2.28"),
    ("open", "C libraries that do not use openat"),
    ("pipe", "C libraries that do not use pipe2"),
    ("ppoll", "poll on architectures without poll"),
    ("readlinkat", "os.readlink on architectures without readlink"),
    ("renameat", "os.rename on architectures without rename"),
    ("renameat2", "os.rename on architectures without renameat"),
    ("restart_syscall", "the kernel itself, when a sleep goes on after a stop"),
    ("rseq", "C libraries since 2.35, in every new thread"),
    ("select", "C libraries before 2.28"),
    ("stat", "C libraries before 2.33"),
    ("statx", "C libraries without newfstatat"),
    ("symlinkat", "os.symlink on architectures without symlink"),
    ("time", "C libraries without a vDSO"),
    ("prctl", "names of threads, since Python 3.14"),
];

/// Uses the standard library as honest programs do; what follows the mark is watched.
const HONEST: &str = r"
import array, asyncio, ctypes, fcntl, glob, io, mmap, os, pathlib, random, resource, select, shutil
import signal, socket, subprocess, sys, tempfile, threading, time

try: os.getpgid(0x77686574)
except OSError: pass

home = tempfile.mkdtemp()
os.chdir(home)
with open('a', 'wb') as f:
    f.write(b'x' * 100000); f.flush(); f.seek(10); f.truncate(50000); f.isatty()
    os.fsync(f.fileno()); os.fdatasync(f.fileno()); os.fchmod(f.fileno(), 0o600)
    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
    os.posix_fallocate(f.fileno(), 0, 60000); os.posix_fadvise(f.fileno(), 0, 0, 0)
    os.pwrite(f.fileno(), b'y', 0); os.writev(f.fileno(), [b'a', b'b']); os.ftruncate(f.fileno(), 40000)
    os.fstatvfs(f.fileno())
with open('a', 'rb') as f:
    f.read(); os.pread(f.fileno(), 1, 0); os.lseek(f.fileno(), 0, 0); os.readv(f.fileno(), [bytearray(2)])
    with open('b', 'wb') as g:
        os.sendfile(g.fileno(), f.fileno(), 0, 100); os.copy_file_range(f.fileno(), g.fileno(), 10)
    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ).close()
os.truncate('b', 5); os.rename('b', 'c'); os.replace('c', 'd'); os.link('d', 'e'); os.symlink('d', 'f')
os.readlink('f'); os.stat('d'); os.lstat('f'); os.access('d', os.R_OK); os.chmod('d', 0o700); os.utime('d')
shutil.copy2('a', 'g'); os.listxattr('a'); shutil.disk_usage('.'); os.umask(0o77)
try: os.getxattr('a', 'user.x')
except OSError: pass
os.mkdir('h'); os.rmdir('h'); os.makedirs('i/j'); shutil.copytree('i', 'k'); os.listdir('.'); os.unlink('e')
with os.scandir('.') as s: list(s)
here = os.open('.', os.O_RDONLY); os.fchdir(here); os.listdir(here); os.getcwd(); os.close(here)
with tempfile.TemporaryFile() as f: f.write(b'x')
glob.glob('**', recursive=True); pathlib.Path('d').resolve()

one, two = os.pipe(); os.set_blocking(one, False); three = os.dup(one); os.dup2(one, 40); os.dup2(one, 41, inheritable=False)
os.set_inheritable(one, True); os.closerange(200, 210)
fcntl.ioctl(two, 0x541b, bytearray(4))
try: os.get_terminal_size()
except OSError: pass
select.select([one], [two], [], 0); p = select.poll(); p.register(two); p.poll(0)
e = select.epoll(); e.register(two); e.poll(0); e.close()
if hasattr(os, 'eventfd'): os.close(os.eventfd(0))
a, b = socket.socketpair()
a.send(b'x'); b.recv(1); a.settimeout(1); a.shutdown(socket.SHUT_WR); a.getsockname(); a.getpeername()
a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); a.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
a.close(); b.close()
async def work():
    await asyncio.sleep(0.001)
    return await asyncio.get_running_loop().run_in_executor(None, sum, (1, 2))
asyncio.run(work())

lock = threading.Lock(); done = threading.Event()
t = threading.Thread(target=lambda: (lock.acquire(), done.set()), name='a thread'); t.start(); done.wait(1); t.join()
threading.get_native_id(); os.sched_yield(); os.sched_getaffinity(0); os.cpu_count()
blocks = [bytearray(1 << 20) for _ in range(8)]; del blocks
grown = array.array('q')
for n in range(400000): grown.append(n)
held = [bytes(300) for _ in range(3000)]; del held
m = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE); m.madvise(mmap.MADV_DONTNEED) if hasattr(m, 'madvise') else None
try: m.resize(1 << 21)
except (OSError, SystemError, ValueError): pass

signal.signal(signal.SIGALRM, lambda *_: None); signal.signal(signal.SIGUSR1, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause(); signal.getitimer(signal.ITIMER_REAL); signal.alarm(5); signal.alarm(0)
os.kill(os.getpid(), signal.SIGUSR1); signal.raise_signal(signal.SIGUSR1); signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); os.kill(os.getpid(), signal.SIGUSR1); signal.sigpending()
signal.sigtimedwait([signal.SIGUSR1], 1)
import faulthandler; faulthandler.enable()

time.sleep(0.001); time.clock_getres(time.CLOCK_MONOTONIC); time.process_time(); time.thread_time(); os.times()
os.getpid(); os.getppid(); os.getuid(); os.geteuid(); os.getgid(); os.getegid(); os.getgroups(); os.getresuid(); os.getresgid()
os.getpgrp(); os.getpgid(0); os.getsid(0); os.getpriority(os.PRIO_PROCESS, 0); os.uname(); os.sysconf('SC_PHYS_PAGES'); os.urandom(8)
resource.getrusage(resource.RUSAGE_SELF); resource.getrlimit(resource.RLIMIT_CPU)
os.chdir('/'); shutil.rmtree(home)
print('done', flush=True)
os._exit(0)
";

#[test]
fn no_rule_of_the_list_is_unused() {
    let _alone = alone();
    let made = match watch(HONEST) {
        Ok(made) => made,
        Err(error) => {
            println!("SKIPPED: no process can be watched here: {error}");
            return;
        }
    };
    let rules = SyscallRules::parse(PROGRAM).unwrap();
    let mut unused = Vec::new();
    for rule in rules.0.iter().filter(|rule| rule.verdict == FilterAction::Allow) {
        let Some(number) = rule.number else { continue };
        let for_others = FOR_OTHERS.iter().any(|(name, _)| *name == rule.name);
        if !made.contains(&u64::from(number)) && !for_others {
            unused.push(rule.name.as_str());
        }
    }
    assert!(unused.is_empty(), "no honest program was seen to need: {unused:?}");
    for (name, _) in FOR_OTHERS {
        assert!(rules.0.iter().any(|rule| rule.name == *name), "`{name}` is not in the list");
    }
    let allowed = |number: u64| {
        rules.0.iter().any(|rule| rule.number.is_some_and(|one| u64::from(one) == number))
    };
    let missing = made.iter().filter(|number| !allowed(**number));
    let missing: Vec<_> = missing.map(|number| name_of(*number)).collect();
    assert!(missing.is_empty(), "an honest program needs: {missing:?}");
}

fn name_of(number: u64) -> String {
    let found = NAMES.iter().find(|(_, one)| u64::try_from(*one) == Ok(number));
    found.map_or_else(|| format!("number {number}"), |(name, _)| (*name).to_owned())
}

/// Runs a program under ptrace and says which calls all its threads made after the mark.
fn watch(source: &str) -> io::Result<BTreeSet<u64>> {
    let mut command = Command::new(python());
    command.args(["-I", "-S", "-B", "-c", source]).stdin(Stdio::null()).stdout(Stdio::piped());
    let ask = || {
        // SAFETY: asks to be watched by the parent; no memory is involved.
        let asked = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
        if asked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: one system call.
    let mut child = unsafe { command.pre_exec(ask) }.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let made = follow(pid);
    let mut said = String::new();
    if let Some(mut out) = child.stdout.take() {
        io::Read::read_to_string(&mut out, &mut said)?;
    }
    assert_eq!(said, "done\n", "the honest program broke off");
    made
}

fn follow(pid: i32) -> io::Result<BTreeSet<u64>> {
    let mut made = BTreeSet::new();
    let mut marked = false;
    let mut first = true;
    loop {
        let mut status = 0;
        // SAFETY: the place is alive; tracees of this thread alone.
        let who = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if who < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if who == pid {
                return Ok(made);
            }
            continue;
        }
        if first {
            let options =
                libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
            // SAFETY: sets flags of a process that is stopped.
            unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, who, 0, options) };
            first = false;
        }
        let signal = libc::WSTOPSIG(status);
        let mut deliver = 0;
        if signal == libc::SIGTRAP | 0x80 {
            if let Some((number, argument)) = entered(who) {
                marked |= argument == 0x7768_6574;
                if marked {
                    made.insert(number);
                }
            }
        } else if signal != libc::SIGTRAP && signal != libc::SIGSTOP {
            deliver = signal;
        }
        // SAFETY: lets a stopped process go on.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, who, 0, deliver) };
    }
}

/// The number and the first argument of the call that a process has just entered.
fn entered(who: i32) -> Option<(u64, u64)> {
    let mut info = [0_u64; 16];
    let size = size_of_val(&info);
    // SAFETY: the place is as long as said.
    unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, who, size, info.as_mut_ptr()) };
    (info[0] & 0xff == 1).then_some((info[3], info[4]))
}
