//! The jail's own numbers against `libc`'s: it has no crates, so they are written down there.

use super::sys::{self, nr};

#[test]
fn system_calls_have_the_numbers_that_libc_knows() {
    let ours_and_libc = [
        (nr::WRITE, libc::SYS_write),
        (nr::CLOSE, libc::SYS_close),
        (nr::GETPID, libc::SYS_getpid),
        (nr::SENDMSG, libc::SYS_sendmsg),
        (nr::RECVMSG, libc::SYS_recvmsg),
        (nr::CLONE, libc::SYS_clone),
        (nr::CHDIR, libc::SYS_chdir),
        (nr::UMASK, libc::SYS_umask),
        (nr::SETPGID, libc::SYS_setpgid),
        (nr::CAPSET, libc::SYS_capset),
        (nr::PRCTL, libc::SYS_prctl),
        (nr::MOUNT, libc::SYS_mount),
        (nr::EXIT_GROUP, libc::SYS_exit_group),
        (nr::OPENAT, libc::SYS_openat),
        (nr::DUP3, libc::SYS_dup3),
        (nr::PRLIMIT64, libc::SYS_prlimit64),
        (nr::SECCOMP, libc::SYS_seccomp),
        (nr::CLOSE_RANGE, libc::SYS_close_range),
        (nr::LANDLOCK_CREATE_RULESET, libc::SYS_landlock_create_ruleset),
        (nr::LANDLOCK_ADD_RULE, libc::SYS_landlock_add_rule),
        (nr::LANDLOCK_RESTRICT_SELF, libc::SYS_landlock_restrict_self),
    ];
    for (at, (ours, theirs)) in ours_and_libc.into_iter().enumerate() {
        assert_eq!(ours, theirs, "number {at} of the list");
    }
}

#[test]
fn flags_are_those_of_libc() {
    let wide = |flag: i32| i64::from(flag).cast_unsigned();
    let ours_and_libc = [
        (wide(sys::EINTR), wide(libc::EINTR)),
        (sys::SIGCHLD, wide(libc::SIGCHLD)),
        (sys::SIGKILL, wide(libc::SIGKILL)),
        (sys::CLONE_PARENT, wide(libc::CLONE_PARENT)),
        (sys::CLONE_NEWNS, wide(libc::CLONE_NEWNS)),
        (sys::CLONE_NEWUSER, wide(libc::CLONE_NEWUSER)),
        (sys::CLONE_NEWPID, wide(libc::CLONE_NEWPID)),
        (sys::MS_NOSUID, libc::MS_NOSUID),
        (sys::MS_NODEV, libc::MS_NODEV),
        (sys::MS_NOEXEC, libc::MS_NOEXEC),
        (wide(sys::AT_FDCWD), wide(libc::AT_FDCWD)),
        (sys::O_WRONLY, wide(libc::O_WRONLY)),
        (sys::O_PATH, wide(libc::O_PATH)),
        (sys::O_CLOEXEC, wide(libc::O_CLOEXEC)),
        (sys::PR_SET_PDEATHSIG, wide(libc::PR_SET_PDEATHSIG)),
        (sys::PR_SET_DUMPABLE, wide(libc::PR_SET_DUMPABLE)),
        (sys::PR_SET_NO_NEW_PRIVS, wide(libc::PR_SET_NO_NEW_PRIVS)),
        (sys::SECCOMP_SET_MODE_FILTER, u64::from(libc::SECCOMP_SET_MODE_FILTER)),
    ];
    for (at, (ours, theirs)) in ours_and_libc.into_iter().enumerate() {
        assert_eq!(ours, theirs, "flag {at} of the list");
    }
}
