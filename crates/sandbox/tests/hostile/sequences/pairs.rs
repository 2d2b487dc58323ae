//! The pairs: one for each thing that could keep a word.

use super::Pair;

const fn pair(name: &'static str, leaves: &'static str, finds: &'static str) -> Pair {
    Pair { name, leaves, finds }
}

pub(crate) const PAIRS: &[Pair] = &[
    pair(
        "flags of the input",
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)",
        "fcntl.fcntl(0, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND)",
    ),
    pair(
        "flags of the output",
        "fcntl.fcntl(1, fcntl.F_SETFL, os.O_NONBLOCK)\nfcntl.fcntl(2, fcntl.F_SETFL, os.O_NONBLOCK)",
        "(fcntl.fcntl(1, fcntl.F_GETFL) | fcntl.fcntl(2, fcntl.F_GETFL)) & os.O_NONBLOCK",
    ),
    pair(
        "flags of the channel",
        "fcntl.fcntl(3, fcntl.F_SETFL, os.O_APPEND)",
        "fcntl.fcntl(3, fcntl.F_GETFL) & os.O_APPEND",
    ),
    pair(
        "pages of a file that were dropped from memory",
        r#"os.posix_fadvise(os.open(__import__("random").__cached__, os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)"#,
        r#"(lambda before, page: page[0] >= 0 and resource.getrusage(0).ru_majflt > before)(resource.getrusage(0).ru_majflt, mmap.mmap(os.open(__import__("random").__cached__, os.O_RDONLY), 4096, mmap.MAP_SHARED, mmap.PROT_READ))"#,
    ),
    pair("where the input is read", "os.lseek(0, 77, 0)", "os.lseek(0, 0, 1) == 77"),
    pair("the mode of the input", "os.fchmod(0, 0o123)", "os.fstat(0).st_mode & 0o777 == 0o123"),
    pair(
        "the times of the input",
        "os.utime(0)\nos.utime(0, (12345, 12345))",
        "int(os.fstat(0).st_mtime) == 12345",
    ),
    pair(
        "a lock on the input",
        "fcntl.flock(0, fcntl.LOCK_EX)",
        "libc.flock(os.open('/dev/null', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB) != 0",
    ),
    pair(
        "locks of the open input, as bits",
        r#"libc.fcntl(0, 37, struct.pack("hhqqi", 0, 0, 41, 1, 0))"#,
        r#"(lambda place: libc.fcntl(os.open("/dev/null", os.O_RDONLY), 36, place) == 0 and place.raw[:2] == b"\0\0")(ctypes.create_string_buffer(struct.pack("hhqqi", 1, 0, 41, 1, 0)))"#,
    ),
    pair(
        "a record lock on a file of the library",
        "held = open(os.__file__); fcntl.lockf(held, fcntl.LOCK_SH)",
        r#"(lambda place: libc.fcntl(os.open(os.__file__, os.O_RDONLY), 5, place) == 0 and place.raw[:2] == b"\0\0")(ctypes.create_string_buffer(struct.pack("hhqqi", 1, 0, 0, 0, 0)))"#,
    ),
    pair(
        "the times of a device",
        r#"
        os.utime("/dev/null", (12345, 12345))
        os.utime(os.open("/dev/random", os.O_RDONLY), (12345, 12345))
        "#,
        r#"12345 in (int(os.stat("/dev/null").st_mtime), int(os.stat("/dev/random").st_mtime))"#,
    ),
    pair(
        "the times of a device, as they are now",
        r#"
        os.utime("/dev/null")
        os.utime("/dev/random")
        os.utime("/dev/urandom")
        os.utime(os.open("/dev/null", os.O_RDONLY))
        os.utime(os.open("/dev/null", os.O_WRONLY))
        "#,
        r#"max(os.stat("/dev/" + name).st_ctime for name in ("null", "zero", "random", "urandom")) > time.time() - 5"#,
    ),
    pair(
        "the mode of a device",
        r#"os.chmod("/dev/null", 0o123)"#,
        r#"os.stat("/dev/null").st_mode & 0o777 == 0o123"#,
    ),
    pair(
        "the times of a file of the library",
        "os.utime(os.__file__)\nos.utime(os.open(os.__file__, os.O_RDONLY))",
        "os.stat(os.__file__).st_ctime > time.time() - 5",
    ),
    pair(
        "the mode of its folder",
        r#"os.chmod(".", 0o500)"#,
        r#"os.stat(".").st_mode & 0o777 == 0o500"#,
    ),
    pair(
        "the mode of its folder: none",
        r#"os.chmod(".", 0)"#,
        r#"os.stat(".").st_mode & 0o777 == 0"#,
    ),
    pair(
        "the mode of its folder, opened",
        r#"os.fchmod(os.open(".", os.O_RDONLY), 0o1700)"#,
        r#"os.stat(".").st_mode & 0o1000"#,
    ),
    pair(
        "the times of its folder",
        r#"os.utime(".", (12345, 12345))"#,
        r#"12345 in (int(os.stat(".").st_mtime), int(os.stat(".").st_atime))"#,
    ),
    pair(
        "files in its folder",
        r#"
        open("word", "w").close()
        os.mkdir("word2")
        os.symlink("/", "word3")
        os.mkfifo("word4")
        "#,
        r#"os.listdir(".")"#,
    ),
    pair(
        "files under folders that nobody may enter",
        r#"
        os.makedirs("a/b/c")
        open("a/b/c/word", "w").close()
        os.chmod("a/b/c", 0)
        os.chmod("a/b", 0o111)
        os.chmod("a", 0)
        os.mkdir("unreadable", 0o300)
        os.mkdir("unreadable/inner", 0)
        open("unreadable/word", "w").close()
        "#,
        r#"os.listdir(".")"#,
    ),
    pair(
        "links where folders are looked for",
        r#"
        os.mkdir("x")
        os.symlink("/usr", "x/up")
        os.symlink("..", "x/back")
        os.symlink("x", "again")
        os.chmod("x", 0)
        "#,
        r#"os.listdir(".")"#,
    ),
    pair(
        "the size of its folder",
        r#"
        [os.close(os.open("n%0200d" % n, os.O_CREAT | os.O_WRONLY)) for n in range(900)]
        [os.unlink(name) for name in os.listdir(".")]
        "#,
        r#"os.stat(".").st_size > 8192"#,
    ),
    pair(
        "the size of its folder, left full",
        r#"[os.symlink("x" * 200, "n%0200d" % n) for n in range(900)]"#,
        r#"os.stat(".").st_size > 8192 or os.listdir(".")"#,
    ),
    pair(
        "files with the names that clearing up uses",
        r#"
        [open(".whet-%d" % n, "w").close() for n in range(1, 400)]
        [os.makedirs("a%d/b/c" % n) for n in range(150)]
        "#,
        r#"os.listdir(".")"#,
    ),
    pair(
        "folders with the names that clearing up uses",
        r#"
        [os.makedirs(".whet-%d/in/side" % n) for n in range(1, 150)]
        [os.makedirs("a%d/b/c" % n) for n in range(150)]
        "#,
        r#"os.listdir(".")"#,
    ),
    pair(
        "links with the names that clearing up uses",
        r#"
        [os.symlink("/etc", ".whet-%d" % n) for n in range(1, 400)]
        [os.makedirs("a%d/b/c" % n) for n in range(150)]
        "#,
        r#"os.listdir(".")"#,
    ),
    pair("many folders", r#"[os.makedirs(f"d{n}/e") for n in range(300)]"#, r#"os.listdir(".")"#),
    pair(
        "attributes of its folder and its input",
        r#"
        os.setxattr(".", "user.word", b"x")
        os.setxattr(0, "user.word", b"x")
        "#,
        r#"os.listxattr(".")"#,
    ),
    pair(
        "memory of System V",
        "libc.shmget(0x77686574, 4096, 0o1666)",
        "libc.shmget(0x77686574, 4096, 0) >= 0",
    ),
    pair(
        "semaphores of System V",
        "libc.semget(0x77686574, 1, 0o1666)",
        "libc.semget(0x77686574, 1, 0) >= 0",
    ),
    pair(
        "letters of System V",
        "libc.msgget(0x77686574, 0o1666)",
        "libc.msgget(0x77686574, 0) >= 0",
    ),
    pair(
        "memory by name",
        r#"open("/dev/shm/whet-word", "w").close()"#,
        r#"os.path.exists("/dev/shm/whet-word")"#,
    ),
    pair(
        "timers",
        "signal.setitimer(signal.ITIMER_REAL, 1000)\nsignal.alarm(1000)",
        "signal.getitimer(signal.ITIMER_REAL)[0] > 0",
    ),
    pair(
        "signals that are ignored or held back",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
        "signal.getsignal(signal.SIGTERM) == signal.SIG_IGN or signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, [])",
    ),
    pair("the mask of modes", "os.umask(0o123)", "os.umask(0) == 0o123"),
    pair(
        "limits",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (33, 33))\nos.nice(3)",
        "resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 33 or os.getpriority(os.PRIO_PROCESS, 0) == 3",
    ),
    pair(
        "names of threads",
        r#"libc.prctl(15, b"word", 0, 0, 0)"#,
        r#"(lambda place: libc.prctl(16, place, 0, 0, 0) == 0 and place.value == b"word")(ctypes.create_string_buffer(17))"#,
    ),
    pair(
        "sizes of the channel",
        "libc.setsockopt(3, 1, 7, ctypes.byref(ctypes.c_int(4608)), 4)",
        "(lambda place, size: libc.getsockopt(3, 1, 7, ctypes.byref(place), ctypes.byref(size)) == 0 and place.value == 9216)(ctypes.c_int(0), ctypes.c_int(4))",
    ),
    pair(
        "keys of the kernel",
        r#"libc.syscall(248, b"user", b"whet-word", b"x", 1, -3)"#,
        r#"libc.syscall(249, b"user", b"whet-word", 0, -3) > 0"#,
    ),
    pair(
        "the name of the machine",
        r#"socket.sethostname("whet-word")"#,
        r#"os.uname().nodename == "whet-word""#,
    ),
    pair(
        "modules, the environment and what is builtin",
        "sys.modules['whet_word'] = sys\nos.environ['WHET_WORD'] = 'x'\n__builtins__.whet_word = 1\nstruct.whet_word = 1",
        "'whet_word' in sys.modules or 'WHET_WORD' in os.environ or hasattr(struct, 'whet_word') or hasattr(__builtins__, 'whet_word')",
    ),
    pair(
        "how many names were made in its folder",
        "[(os.close(os.open('n', os.O_CREAT)), os.unlink('n')) for _ in range(400)]",
        // Offsets of the four entries of the folder, of 24 bytes each; a tmpfs counts them up.
        "(open('x', 'w').close(), open('y', 'w').close(), \
         b := ctypes.create_string_buffer(4096), libc.syscall(217, os.open('.', 0), b, 4096), \
         max(at for at in struct.unpack_from('<12Q', b)[1::3] if at < 0x7fffffff) > 300)[-1]",
    ),
    pair(
        "the size of the folder above",
        "[os.mkdir(f'd{i:0200}') or os.mkdir(f'd{i:0200}/inner') for i in range(400)]",
        "os.path.exists('../program') and os.stat('..').st_size > 4096",
    ),
    pair(
        "names beside its folder",
        "os.mkdir('../left')\nos.rename('.', '../left')\nos.mkdir(os.getcwd() + '/../left')",
        "os.path.exists('../left') or 'left' in os.listdir('..')",
    ),
];
