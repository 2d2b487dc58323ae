//! The last thing a zygote's process does before it becomes an interpreter: it walls itself in.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_dumpable;
use nix::sys::stat::Mode;
use nix::unistd::{
    Gid, Uid, dup2_stdin, execve, getegid, geteuid, setgroups, setresgid, setresuid,
};
use serde::{Deserialize, Serialize};
use whetstone_core::program::Language;

use super::blocked::{blocked_at, interpreter_problem};
use super::folders::{PROGRAM_FOLDER, SCRATCH};
use super::{JAIL, SOURCE, START, root, shut};
use crate::jail::landlock::Rights;
use crate::jail::order::CHANNEL;
use crate::os::Inherit;
use crate::phaser::Installation;

/// The options of a zygote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ZygoteOptions {
    /// What is loaded in it.
    pub(crate) kind: ZygoteKind,
    /// The Phaser of a zygote that has it loaded.
    pub(crate) phaser: Option<Installation>,
    /// The Python interpreter's executable.
    pub(crate) interpreter: PathBuf,
    /// The files and folders that its programs see, none below another.
    pub(crate) shown: Vec<PathBuf>,
    /// The version of Landlock to shut the machine's own root with; 0 for none.
    pub(crate) landlock: u32,
    /// Make a private root, and how.
    pub(crate) root: RootKind,
    /// The user to become, if we may choose.
    pub(crate) user: Option<u32>,
    /// The folder for programs to write to, as it is called outside; `None` if each program mounts
    /// its own.
    pub(crate) scratch: Option<PathBuf>,
    /// The value of `PYTHONHASHSEED`.
    pub(crate) hash_seed: u32,
}

/// What is loaded in a zygote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ZygoteKind {
    /// A Python interpreter.
    #[default]
    Python,
    /// A JavaScript engine.
    Javascript,
    /// A JavaScript engine with Phaser.
    Phaser,
}

impl From<Language> for ZygoteKind {
    fn from(language: Language) -> Self {
        match language {
            Language::Python => Self::Python,
            Language::Javascript => Self::Javascript,
        }
    }
}

/// The way in which a zygote gets its private root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RootKind {
    /// As root: mount namespaces are ours to make.
    Privileged,
    /// In a user namespace.
    UserNamespace,
    /// It sees the machine's own.
    None,
}

/// Becomes the zygote; returns only if it cannot.
///
/// `socket` is the descriptor on which orders come.
pub(crate) fn launch(wanted: &ZygoteOptions, socket: i32) -> String {
    match try_launch(wanted, socket) {
        Ok(never) => match never {},
        Err(problem) => problem,
    }
}

fn try_launch(wanted: &ZygoteOptions, socket: i32) -> Result<std::convert::Infallible, String> {
    // Behind the walls there are no files of ours.
    let phaser = wanted.phaser.as_ref().map(Installation::read).transpose();
    let phaser = phaser.map_err(|error| error.to_string())?;
    let socket = arrange_streams(socket)?;
    // Kept open: children write their user map through it, and the private root has no `/proc`.
    let proc_dir = open("/proc", OFlag::O_PATH | OFlag::O_DIRECTORY, Mode::empty())
        .map_err(|error| format!("cannot open /proc: {error}"))?;
    let proc_dir = out_of_the_way(proc_dir)?;
    enter_namespaces(wanted.root)?;
    let [library, zygote] = if wanted.root == RootKind::None {
        [memory_file(JAIL)?, memory_file(SOURCE.as_bytes())?]
    } else {
        let files = [("/jail.so", JAIL), ("/zygote.py", SOURCE.as_bytes())];
        root::enter(&wanted.shown, wanted.scratch.as_deref(), &files)?;
        files.map(|(path, _)| path.to_owned())
    };
    if let Some(user) = wanted.user {
        become_user(user)?;
    }
    if let (RootKind::None, Some(scratch), 1..) = (wanted.root, &wanted.scratch, wanted.landlock) {
        shut::shut(landlock_rights(wanted.landlock), &wanted.shown, scratch)?;
    }
    if wanted.kind != ZygoteKind::Python {
        // Its interpreter is in this binary. Executing one would also have given the process its own
        // files in `/proc` back, which a change of user takes away.
        set_dumpable(true).map_err(|error| format!("cannot own its process files: {error}"))?;
        return match phaser {
            Some(bytecode) => crate::phaser::become_zygote(socket, proc_dir, bytecode),
            None => crate::javascript::become_zygote(socket, proc_dir),
        };
    }
    // An interpreter finds its library by the name it is called by.
    let interpreter = wanted.interpreter.to_string_lossy();
    let arguments = [
        interpreter.as_ref(),
        "-s",
        "-S",
        "-B",
        "-c",
        START,
        &socket.to_string(),
        &proc_dir.to_string(),
        &library,
        &zygote,
    ];
    let arguments: Vec<CString> =
        arguments.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
    let environment = environment(wanted)?;
    let program = text(&interpreter)?;
    // What a program makes of the addresses of its objects should not differ from judge to judge. Some
    // containers refuse it, and nothing rests on it alone: such programs are not remembered either.
    let _: std::io::Result<()> = crate::os::fix_addresses();
    execve(&program, &arguments, &environment).map_err(|error| match error {
        Errno::EACCES => {
            let folder = blocked_at(&wanted.interpreter);
            interpreter_problem(&interpreter, wanted.user, folder.as_deref())
        }
        error => format!("cannot execute {interpreter}: {error}"),
    })
}

/// Gives the process its own namespaces, as far as its root has them.
fn enter_namespaces(root: RootKind) -> Result<(), String> {
    match root {
        RootKind::Privileged => {
            unshare_or(walls())?;
            forget_host_name()
        }
        RootKind::UserNamespace => {
            let (uid, gid) = (geteuid(), getegid());
            unshare_or(CloneFlags::CLONE_NEWUSER | walls())?;
            map_self(uid, gid)?;
            forget_host_name()
        }
        RootKind::None => Ok(()),
    }
}

/// The environment variables of a Python interpreter.
fn environment(wanted: &ZygoteOptions) -> Result<Vec<CString>, String> {
    let scratch = match (&wanted.scratch, wanted.root) {
        (Some(path), RootKind::None) => path.join(PROGRAM_FOLDER).to_string_lossy().into_owned(),
        _ => SCRATCH.to_owned(),
    };
    let environment = [
        "PATH=/usr/bin:/bin".to_owned(),
        "LANG=C.UTF-8".to_owned(),
        "TZ=UTC".to_owned(),
        format!("PYTHONHASHSEED={}", wanted.hash_seed),
        // All symbols are found at the start, and no child writes to their tables.
        "LD_BIND_NOW=1".to_owned(),
        "PYTHONUTF8=1".to_owned(),
        "PYTHONIOENCODING=utf-8".to_owned(),
        "OPENBLAS_NUM_THREADS=1".to_owned(),
        "OMP_NUM_THREADS=1".to_owned(),
        format!("HOME={scratch}"),
        format!("TMPDIR={scratch}"),
    ];
    environment.iter().map(|pair| text(pair)).collect()
}

/// Children put their own descriptors at 0 to 3: what the zygote keeps goes above.
const HIGH: i32 = 10;

fn out_of_the_way(fd: impl AsFd) -> Result<i32, String> {
    fcntl(fd, FcntlArg::F_DUPFD(HIGH)).map_err(|error| format!("cannot move a descriptor: {error}"))
}

/// The interpreter makes its stream objects once, and children inherit them: so they are made on
/// the kinds of files that children will have, a seekable one to read and a pipe to write.
fn arrange_streams(socket: i32) -> Result<i32, String> {
    let said = |error: nix::Error| format!("cannot arrange the standard streams: {error}");
    let inherited = crate::os::inherited(socket).map_err(|error| error.to_string())?;
    let moved = out_of_the_way(&inherited)?;
    drop(inherited);
    let null = open("/dev/null", OFlag::O_RDONLY, Mode::empty()).map_err(said)?;
    if null.as_raw_fd() == 0 {
        let _: i32 = null.into_raw_fd();
    } else {
        dup2_stdin(null).map_err(said)?;
    }
    crate::os::merge_output().map_err(|error| error.to_string())?;
    // Taken, so that what arrives with an order is never in the place where it is to go.
    let channel = fcntl(std::io::stdin(), FcntlArg::F_DUPFD(CHANNEL)).map_err(said)?;
    if channel != CHANNEL {
        return Err(format!("descriptor {CHANNEL} is in use"));
    }
    Ok(moved)
}

fn walls() -> CloneFlags {
    CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
}

fn unshare_or(flags: CloneFlags) -> Result<(), String> {
    unshare(flags).map_err(|error| match error {
        // The kernel's number for it is that of a full disk.
        Errno::ENOSPC => {
            "the kernel refuses fresh namespaces: a limit in /proc/sys/user is reached".to_owned()
        }
        error => format!("the kernel refuses fresh namespaces: {error}"),
    })
}

/// Hides the machine's host name.
fn forget_host_name() -> Result<(), String> {
    crate::os::set_host_name("whet").map_err(|error| format!("cannot change the name: {error}"))
}

/// The rights that each version of Landlock knows.
pub(crate) fn landlock_rights(version: u32) -> Rights {
    let files = match version {
        0 => 0,
        1 => 0x1fff,
        2 => 0x3fff,
        3 | 4 => 0x7fff,
        _ => 0xffff,
    };
    let net = if version >= 4 { 3 } else { 0 };
    let scopes = if version >= 6 { 3 } else { 0 };
    Rights { files, net, scopes }
}

fn map_self(uid: Uid, gid: Gid) -> Result<(), String> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| format!("the kernel refuses a user map: {error}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{uid} {uid} 1"))?;
    write("gid_map", format!("{gid} {gid} 1"))
}

fn become_user(user: u32) -> Result<(), String> {
    let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
    setgroups(&[])
        .and_then(|()| setresgid(gid, gid, gid))
        .and_then(|()| setresuid(uid, uid, uid))
        .map_err(|error| format!("cannot become user {user}: {error}"))
}

/// A file without a name, under a path by which the interpreter can open it.
fn memory_file(bytes: &[u8]) -> Result<String, String> {
    let file = crate::os::memfd("whet", bytes, Inherit::Yes)
        .map_err(|error| format!("cannot keep a file in memory: {error}"))?;
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()))
}

fn text(word: &str) -> Result<CString, String> {
    CString::new(word).map_err(|_| format!("{word:?} has a zero byte in it"))
}
