//! The supervisor's end of a zygote.

use std::io::{self, IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, recv, send, sendmsg, socketpair,
};

use super::launch::ZygoteOptions;
use crate::jail::order::{DESCRIPTORS, LaunchReply, MAGIC, Order, Terms};
use crate::os;
use crate::start_problem::no_process;

/// The timeout of a fork: only an overloaded machine needs that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A warmed interpreter.
#[derive(Debug)]
pub(crate) struct Zygote {
    process: Child,
    socket: OwnedFd,
}

/// The descriptors of a child, in the order in which the jail wants them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fds<'a> {
    pub(crate) channel: BorrowedFd<'a>,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
}

/// Why a zygote gave no child. Always the machine's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ZygoteError {
    #[error("cannot start a zygote: {0}")]
    Start(String),
    #[error("the zygote is gone{}", if .0.is_empty() { String::new() } else { format!(": {}", .0) })]
    Gone(String),
    #[error("the zygote cannot fork: {0}")]
    Fork(String),
    #[error("the zygote did not answer within {} s", PATIENCE.as_secs())]
    Silent,
}

impl Zygote {
    /// Starts one. `command` starts this binary again, as a launcher.
    pub(crate) fn start(
        command: &[String],
        wanted: &ZygoteOptions,
        terms: &Terms,
    ) -> Result<Self, ZygoteError> {
        let fail = |error: io::Error| {
            ZygoteError::Start(no_process(&error).unwrap_or_else(|| error.to_string()))
        };
        let flags = SockFlag::SOCK_CLOEXEC;
        let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)
            .map_err(|e| fail(e.into()))?;
        let wanted = serde_json::to_string(wanted).map_err(|e| fail(io::Error::other(e)))?;
        let (program, arguments) =
            command.split_first().ok_or_else(|| ZygoteError::Start("no command".to_owned()))?;
        // The socket goes in as standard input, which is where a launcher looks for it.
        let mut process = Command::new(program)
            .args(arguments)
            .args(["zygote", &wanted])
            .env_clear()
            .env("TZ", "UTC")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(fail)?;
        let sent = send(ours.as_raw_fd(), os::bytes_of(terms), MsgFlags::MSG_NOSIGNAL);
        if let Err(error) = sent {
            let said = last_words(&mut process);
            return Err(ZygoteError::Start(if said.is_empty() { error.to_string() } else { said }));
        }
        Ok(Self { process, socket: ours })
    }

    /// The zygote's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Forks a child; it is a child of the calling process.
    pub(crate) fn fork(&mut self, order: &Order, fds: Fds<'_>) -> Result<i32, ZygoteError> {
        let raw: [i32; DESCRIPTORS] =
            [fds.channel, fds.stdin, fds.stdout, fds.stderr].map(|fd| fd.as_raw_fd());
        let control = [ControlMessage::ScmRights(&raw)];
        let bytes = [IoSlice::new(os::bytes_of(order))];
        let socket = self.socket.as_raw_fd();
        if sendmsg::<()>(socket, &bytes, &control, MsgFlags::MSG_NOSIGNAL, None).is_err() {
            return Err(self.gone());
        }
        let deadline = Instant::now() + PATIENCE;
        let mut answer = [0_u8; size_of::<LaunchReply>()];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut waiting = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            match poll(&mut waiting, timeout) {
                Ok(0) => {
                    let _ = self.process.kill();
                    return Err(ZygoteError::Silent);
                }
                Err(nix::Error::EINTR) => continue,
                Err(_) => return Err(self.gone()),
                Ok(_) => {}
            }
            match recv(socket, &mut answer, MsgFlags::MSG_DONTWAIT) {
                Ok(length) if length == answer.len() => break,
                Err(nix::Error::EINTR | nix::Error::EAGAIN) => {}
                _ => return Err(self.gone()),
            }
        }
        let [magic, pid] = [0, 4].map(|at| {
            i32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]])
        });
        if magic.cast_unsigned() != MAGIC {
            return Err(self.gone());
        }
        if pid <= 0 {
            let error = io::Error::from_raw_os_error(-pid);
            let problem = match -pid {
                // The kernel's number for it is that of a full disk.
                libc::ENOSPC => "a limit in /proc/sys/user is reached".to_owned(),
                code => no_process(&error).unwrap_or_else(|| os::error_text(code)),
            };
            return Err(ZygoteError::Fork(problem));
        }
        Ok(pid)
    }

    fn gone(&mut self) -> ZygoteError {
        ZygoteError::Gone(last_words(&mut self.process))
    }
}

impl Drop for Zygote {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Ends the process and reads what it said.
fn last_words(process: &mut Child) -> String {
    // One that is ending by itself is left the time to say why.
    let deadline = Instant::now() + Duration::from_millis(500);
    while matches!(process.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = process.kill();
    let _ = process.wait();
    let mut said = Vec::new();
    if let Some(stderr) = process.stderr.take() {
        let _ = stderr.take(4096).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    said.trim_end().lines().last().unwrap_or_default().to_owned()
}
