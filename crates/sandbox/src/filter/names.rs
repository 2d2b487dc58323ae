//! Names and numbers of system calls: those that the list allows, and those that a test shows to
//! be refused.

/// A call that this architecture does not have.
#[cfg(not(target_arch = "x86_64"))]
const ABSENT: i64 = -1;

/// `(name, number)`, by name; the number is negative where an architecture has no such call.
pub const NAMES: &[(&str, i64)] = &[
    ("accept", libc::SYS_accept),
    ("accept4", libc::SYS_accept4),
    ("access", x86_only::ACCESS),
    ("acct", libc::SYS_acct),
    ("add_key", libc::SYS_add_key),
    ("alarm", x86_only::ALARM),
    ("arch_prctl", x86_only::ARCH_PRCTL),
    ("bind", libc::SYS_bind),
    ("bpf", libc::SYS_bpf),
    ("brk", libc::SYS_brk),
    ("capset", libc::SYS_capset),
    ("chdir", libc::SYS_chdir),
    ("chmod", x86_only::CHMOD),
    ("chown", x86_only::CHOWN),
    ("chroot", libc::SYS_chroot),
    ("clock_adjtime", libc::SYS_clock_adjtime),
    ("clock_getres", libc::SYS_clock_getres),
    ("clock_gettime", libc::SYS_clock_gettime),
    ("clock_nanosleep", libc::SYS_clock_nanosleep),
    ("clock_settime", libc::SYS_clock_settime),
    ("clone", libc::SYS_clone),
    ("clone3", libc::SYS_clone3),
    ("close", libc::SYS_close),
    ("close_range", libc::SYS_close_range),
    ("connect", libc::SYS_connect),
    ("copy_file_range", libc::SYS_copy_file_range),
    ("creat", x86_only::CREAT),
    ("delete_module", libc::SYS_delete_module),
    ("dup", libc::SYS_dup),
    ("dup2", x86_only::DUP2),
    ("dup3", libc::SYS_dup3),
    ("epoll_create1", libc::SYS_epoll_create1),
    ("epoll_ctl", libc::SYS_epoll_ctl),
    ("epoll_pwait", libc::SYS_epoll_pwait),
    ("epoll_wait", x86_only::EPOLL_WAIT),
    ("eventfd2", libc::SYS_eventfd2),
    ("execve", libc::SYS_execve),
    ("execveat", libc::SYS_execveat),
    ("exit", libc::SYS_exit),
    ("exit_group", libc::SYS_exit_group),
    ("faccessat", libc::SYS_faccessat),
    ("faccessat2", libc::SYS_faccessat2),
    ("fadvise64", libc::SYS_fadvise64),
    ("fallocate", libc::SYS_fallocate),
    ("fanotify_init", libc::SYS_fanotify_init),
    ("fchdir", libc::SYS_fchdir),
    ("fchmod", libc::SYS_fchmod),
    ("fchmodat", libc::SYS_fchmodat),
    ("fchown", libc::SYS_fchown),
    ("fchownat", libc::SYS_fchownat),
    ("fcntl", libc::SYS_fcntl),
    ("fdatasync", libc::SYS_fdatasync),
    ("finit_module", libc::SYS_finit_module),
    ("flock", libc::SYS_flock),
    ("fork", x86_only::FORK),
    ("fsopen", libc::SYS_fsopen),
    ("fstat", libc::SYS_fstat),
    ("fstatfs", libc::SYS_fstatfs),
    ("fsync", libc::SYS_fsync),
    ("ftruncate", libc::SYS_ftruncate),
    ("futex", libc::SYS_futex),
    ("get_robust_list", libc::SYS_get_robust_list),
    ("getcpu", libc::SYS_getcpu),
    ("getcwd", libc::SYS_getcwd),
    ("getdents64", libc::SYS_getdents64),
    ("getegid", libc::SYS_getegid),
    ("geteuid", libc::SYS_geteuid),
    ("getgid", libc::SYS_getgid),
    ("getgroups", libc::SYS_getgroups),
    ("getitimer", libc::SYS_getitimer),
    ("getpeername", libc::SYS_getpeername),
    ("getpgid", libc::SYS_getpgid),
    ("getpgrp", x86_only::GETPGRP),
    ("getpid", libc::SYS_getpid),
    ("getppid", libc::SYS_getppid),
    ("getpriority", libc::SYS_getpriority),
    ("getrandom", libc::SYS_getrandom),
    ("getresgid", libc::SYS_getresgid),
    ("getresuid", libc::SYS_getresuid),
    ("getrlimit", x86_only::GETRLIMIT),
    ("getrusage", libc::SYS_getrusage),
    ("getsid", libc::SYS_getsid),
    ("getsockname", libc::SYS_getsockname),
    ("getsockopt", libc::SYS_getsockopt),
    ("gettid", libc::SYS_gettid),
    ("gettimeofday", libc::SYS_gettimeofday),
    ("getuid", libc::SYS_getuid),
    ("getxattr", libc::SYS_getxattr),
    ("init_module", libc::SYS_init_module),
    ("inotify_init1", libc::SYS_inotify_init1),
    ("io_setup", libc::SYS_io_setup),
    ("io_uring_enter", libc::SYS_io_uring_enter),
    ("io_uring_register", libc::SYS_io_uring_register),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("ioctl", libc::SYS_ioctl),
    ("ioperm", x86_only::IOPERM),
    ("iopl", x86_only::IOPL),
    ("ioprio_set", libc::SYS_ioprio_set),
    ("kcmp", libc::SYS_kcmp),
    ("kexec_load", libc::SYS_kexec_load),
    ("keyctl", libc::SYS_keyctl),
    ("kill", libc::SYS_kill),
    ("landlock_add_rule", libc::SYS_landlock_add_rule),
    ("landlock_create_ruleset", libc::SYS_landlock_create_ruleset),
    ("landlock_restrict_self", libc::SYS_landlock_restrict_self),
    ("lchown", x86_only::LCHOWN),
    ("link", x86_only::LINK),
    ("linkat", libc::SYS_linkat),
    ("listen", libc::SYS_listen),
    ("listxattr", libc::SYS_listxattr),
    ("lookup_dcookie", libc::SYS_lookup_dcookie),
    ("lseek", libc::SYS_lseek),
    ("lstat", x86_only::LSTAT),
    ("madvise", libc::SYS_madvise),
    ("mbind", libc::SYS_mbind),
    ("membarrier", libc::SYS_membarrier),
    ("memfd_create", libc::SYS_memfd_create),
    ("memfd_secret", libc::SYS_memfd_secret),
    ("migrate_pages", libc::SYS_migrate_pages),
    ("mkdir", x86_only::MKDIR),
    ("mkdirat", libc::SYS_mkdirat),
    ("mknod", x86_only::MKNOD),
    ("mknodat", libc::SYS_mknodat),
    ("mlock", libc::SYS_mlock),
    ("mlockall", libc::SYS_mlockall),
    ("mmap", libc::SYS_mmap),
    ("modify_ldt", x86_only::MODIFY_LDT),
    ("mount", libc::SYS_mount),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("move_mount", libc::SYS_move_mount),
    ("move_pages", libc::SYS_move_pages),
    ("mprotect", libc::SYS_mprotect),
    ("mq_open", libc::SYS_mq_open),
    ("mq_unlink", libc::SYS_mq_unlink),
    ("mremap", libc::SYS_mremap),
    ("msgctl", libc::SYS_msgctl),
    ("msgget", libc::SYS_msgget),
    ("msgrcv", libc::SYS_msgrcv),
    ("msgsnd", libc::SYS_msgsnd),
    ("munmap", libc::SYS_munmap),
    ("name_to_handle_at", libc::SYS_name_to_handle_at),
    ("nanosleep", libc::SYS_nanosleep),
    ("newfstatat", libc::SYS_newfstatat),
    ("open", x86_only::OPEN),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("open_tree", libc::SYS_open_tree),
    ("openat", libc::SYS_openat),
    ("pause", x86_only::PAUSE),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("personality", libc::SYS_personality),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
    ("pipe", x86_only::PIPE),
    ("pipe2", libc::SYS_pipe2),
    ("pivot_root", libc::SYS_pivot_root),
    ("poll", x86_only::POLL),
    ("ppoll", libc::SYS_ppoll),
    ("prctl", libc::SYS_prctl),
    ("pread64", libc::SYS_pread64),
    ("prlimit64", libc::SYS_prlimit64),
    ("process_madvise", libc::SYS_process_madvise),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("pselect6", libc::SYS_pselect6),
    ("ptrace", libc::SYS_ptrace),
    ("pwrite64", libc::SYS_pwrite64),
    ("quotactl", libc::SYS_quotactl),
    ("read", libc::SYS_read),
    ("readlink", x86_only::READLINK),
    ("readlinkat", libc::SYS_readlinkat),
    ("readv", libc::SYS_readv),
    ("reboot", libc::SYS_reboot),
    ("recvfrom", libc::SYS_recvfrom),
    ("recvmsg", libc::SYS_recvmsg),
    ("removexattr", libc::SYS_removexattr),
    ("rename", x86_only::RENAME),
    ("renameat", x86_only::RENAMEAT),
    ("renameat2", libc::SYS_renameat2),
    ("request_key", libc::SYS_request_key),
    ("restart_syscall", libc::SYS_restart_syscall),
    ("rmdir", x86_only::RMDIR),
    ("rseq", libc::SYS_rseq),
    ("rt_sigaction", libc::SYS_rt_sigaction),
    ("rt_sigpending", libc::SYS_rt_sigpending),
    ("rt_sigprocmask", libc::SYS_rt_sigprocmask),
    ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
    ("rt_sigreturn", libc::SYS_rt_sigreturn),
    ("rt_sigsuspend", libc::SYS_rt_sigsuspend),
    ("rt_sigtimedwait", libc::SYS_rt_sigtimedwait),
    ("rt_tgsigqueueinfo", libc::SYS_rt_tgsigqueueinfo),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("sched_setaffinity", libc::SYS_sched_setaffinity),
    ("sched_setattr", libc::SYS_sched_setattr),
    ("sched_setparam", libc::SYS_sched_setparam),
    ("sched_setscheduler", libc::SYS_sched_setscheduler),
    ("sched_yield", libc::SYS_sched_yield),
    ("seccomp", libc::SYS_seccomp),
    ("select", x86_only::SELECT),
    ("semctl", libc::SYS_semctl),
    ("semget", libc::SYS_semget),
    ("semop", libc::SYS_semop),
    ("sendfile", libc::SYS_sendfile),
    ("sendmsg", libc::SYS_sendmsg),
    ("sendto", libc::SYS_sendto),
    ("set_mempolicy", libc::SYS_set_mempolicy),
    ("set_robust_list", libc::SYS_set_robust_list),
    ("setgid", libc::SYS_setgid),
    ("setgroups", libc::SYS_setgroups),
    ("sethostname", libc::SYS_sethostname),
    ("setitimer", libc::SYS_setitimer),
    ("setns", libc::SYS_setns),
    ("setpgid", libc::SYS_setpgid),
    ("setpriority", libc::SYS_setpriority),
    ("setresgid", libc::SYS_setresgid),
    ("setresuid", libc::SYS_setresuid),
    ("setrlimit", x86_only::SETRLIMIT),
    ("setsid", libc::SYS_setsid),
    ("setsockopt", libc::SYS_setsockopt),
    ("settimeofday", libc::SYS_settimeofday),
    ("setuid", libc::SYS_setuid),
    ("setxattr", libc::SYS_setxattr),
    ("shmat", libc::SYS_shmat),
    ("shmctl", libc::SYS_shmctl),
    ("shmget", libc::SYS_shmget),
    ("shutdown", libc::SYS_shutdown),
    ("sigaltstack", libc::SYS_sigaltstack),
    ("signalfd4", libc::SYS_signalfd4),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("splice", libc::SYS_splice),
    ("stat", x86_only::STAT),
    ("statfs", libc::SYS_statfs),
    ("statx", libc::SYS_statx),
    ("swapon", libc::SYS_swapon),
    ("symlink", x86_only::SYMLINK),
    ("symlinkat", libc::SYS_symlinkat),
    ("sysinfo", libc::SYS_sysinfo),
    ("syslog", libc::SYS_syslog),
    ("tee", libc::SYS_tee),
    ("tgkill", libc::SYS_tgkill),
    ("time", x86_only::TIME),
    ("timerfd_create", libc::SYS_timerfd_create),
    ("times", libc::SYS_times),
    ("tkill", libc::SYS_tkill),
    ("truncate", libc::SYS_truncate),
    ("umask", libc::SYS_umask),
    ("umount2", libc::SYS_umount2),
    ("uname", libc::SYS_uname),
    ("unlink", x86_only::UNLINK),
    ("unlinkat", libc::SYS_unlinkat),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("utimensat", libc::SYS_utimensat),
    ("vfork", x86_only::VFORK),
    ("vhangup", libc::SYS_vhangup),
    ("vmsplice", libc::SYS_vmsplice),
    ("write", libc::SYS_write),
    ("writev", libc::SYS_writev),
];

/// Calls that newer architectures were never given.
#[cfg(target_arch = "x86_64")]
mod x86_only {
    pub(super) const ACCESS: i64 = libc::SYS_access;
    pub(super) const ALARM: i64 = libc::SYS_alarm;
    pub(super) const ARCH_PRCTL: i64 = libc::SYS_arch_prctl;
    pub(super) const CHMOD: i64 = libc::SYS_chmod;
    pub(super) const CHOWN: i64 = libc::SYS_chown;
    pub(super) const CREAT: i64 = libc::SYS_creat;
    pub(super) const DUP2: i64 = libc::SYS_dup2;
    pub(super) const EPOLL_WAIT: i64 = libc::SYS_epoll_wait;
    pub(super) const FORK: i64 = libc::SYS_fork;
    pub(super) const GETPGRP: i64 = libc::SYS_getpgrp;
    pub(super) const GETRLIMIT: i64 = libc::SYS_getrlimit;
    pub(super) const IOPERM: i64 = libc::SYS_ioperm;
    pub(super) const IOPL: i64 = libc::SYS_iopl;
    pub(super) const LCHOWN: i64 = libc::SYS_lchown;
    pub(super) const LINK: i64 = libc::SYS_link;
    pub(super) const LSTAT: i64 = libc::SYS_lstat;
    pub(super) const MKDIR: i64 = libc::SYS_mkdir;
    pub(super) const MKNOD: i64 = libc::SYS_mknod;
    pub(super) const MODIFY_LDT: i64 = libc::SYS_modify_ldt;
    pub(super) const OPEN: i64 = libc::SYS_open;
    pub(super) const PAUSE: i64 = libc::SYS_pause;
    pub(super) const PIPE: i64 = libc::SYS_pipe;
    pub(super) const POLL: i64 = libc::SYS_poll;
    pub(super) const READLINK: i64 = libc::SYS_readlink;
    pub(super) const RENAME: i64 = libc::SYS_rename;
    pub(super) const RENAMEAT: i64 = libc::SYS_renameat;
    pub(super) const RMDIR: i64 = libc::SYS_rmdir;
    pub(super) const SELECT: i64 = libc::SYS_select;
    pub(super) const SETRLIMIT: i64 = libc::SYS_setrlimit;
    pub(super) const STAT: i64 = libc::SYS_stat;
    pub(super) const SYMLINK: i64 = libc::SYS_symlink;
    pub(super) const TIME: i64 = libc::SYS_time;
    pub(super) const UNLINK: i64 = libc::SYS_unlink;
    pub(super) const VFORK: i64 = libc::SYS_vfork;
}

/// Calls that newer architectures were never given.
#[cfg(not(target_arch = "x86_64"))]
mod x86_only {
    pub(super) const ACCESS: i64 = super::ABSENT;
    pub(super) const ALARM: i64 = super::ABSENT;
    pub(super) const ARCH_PRCTL: i64 = super::ABSENT;
    pub(super) const CHMOD: i64 = super::ABSENT;
    pub(super) const CHOWN: i64 = super::ABSENT;
    pub(super) const CREAT: i64 = super::ABSENT;
    pub(super) const DUP2: i64 = super::ABSENT;
    pub(super) const EPOLL_WAIT: i64 = super::ABSENT;
    pub(super) const FORK: i64 = super::ABSENT;
    pub(super) const GETPGRP: i64 = super::ABSENT;
    pub(super) const GETRLIMIT: i64 = super::ABSENT;
    pub(super) const IOPERM: i64 = super::ABSENT;
    pub(super) const IOPL: i64 = super::ABSENT;
    pub(super) const LCHOWN: i64 = super::ABSENT;
    pub(super) const LINK: i64 = super::ABSENT;
    pub(super) const LSTAT: i64 = super::ABSENT;
    pub(super) const MKDIR: i64 = super::ABSENT;
    pub(super) const MKNOD: i64 = super::ABSENT;
    pub(super) const MODIFY_LDT: i64 = super::ABSENT;
    pub(super) const OPEN: i64 = super::ABSENT;
    pub(super) const PAUSE: i64 = super::ABSENT;
    pub(super) const PIPE: i64 = super::ABSENT;
    pub(super) const POLL: i64 = super::ABSENT;
    pub(super) const READLINK: i64 = super::ABSENT;
    pub(super) const RENAME: i64 = super::ABSENT;
    pub(super) const RENAMEAT: i64 = super::ABSENT;
    pub(super) const RMDIR: i64 = super::ABSENT;
    pub(super) const SELECT: i64 = super::ABSENT;
    pub(super) const SETRLIMIT: i64 = super::ABSENT;
    pub(super) const STAT: i64 = super::ABSENT;
    pub(super) const SYMLINK: i64 = super::ABSENT;
    pub(super) const TIME: i64 = super::ABSENT;
    pub(super) const UNLINK: i64 = super::ABSENT;
    pub(super) const VFORK: i64 = super::ABSENT;
}

/// A call's number; `None` if the name is unknown, `Some(None)` if this architecture lacks it.
pub fn number(name: &str) -> Option<Option<u32>> {
    let at = NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(u32::try_from(NAMES[at].1).ok())
}
