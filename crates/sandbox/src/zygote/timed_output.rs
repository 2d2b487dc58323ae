//! Runs a command to its end and takes what it writes, for a limited time.
//!
//! The command has a process group of its own: what a script has started ends with it, and does not keep the
//! pipes open.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Bytes of each stream that are kept.
const KEPT_MAX: usize = 1 << 20;

/// A pipe, and what came out of it.
struct Stream<R> {
    pipe: Option<R>,
    kept: Vec<u8>,
}

/// What the command wrote, and how it ended; `None` if it was killed because it took longer than `limit`.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    let deadline = Instant::now() + limit;
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
    let mut stdout = Stream { pipe: child.stdout.take(), kept: Vec::new() };
    let mut stderr = Stream { pipe: child.stderr.take(), kept: Vec::new() };
    let output =
        read_both(&mut stdout, &mut stderr, deadline).and_then(|()| end_by(&mut child, deadline));
    match output {
        Ok(Some(status)) => Ok(Some(Output { status, stdout: stdout.kept, stderr: stderr.kept })),
        other => {
            let group = i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)?;
            let _ = killpg(group, Signal::SIGKILL);
            let _ = child.wait();
            other.map(|_| None)
        }
    }
}

/// Reads both until they are closed, or until the deadline.
fn read_both(
    stdout: &mut Stream<impl Read + AsFd>,
    stderr: &mut Stream<impl Read + AsFd>,
    deadline: Instant,
) -> io::Result<()> {
    while stdout.pipe.is_some() || stderr.pipe.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        let pipes = [stdout.pipe.as_ref().map(AsFd::as_fd), stderr.pipe.as_ref().map(AsFd::as_fd)];
        let mut waiting: Vec<PollFd<'_>> =
            pipes.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut waiting, timeout) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        stdout.take()?;
        stderr.take()?;
    }
    Ok(())
}

impl<R: Read + AsFd> Stream<R> {
    /// Takes what is there, once.
    fn take(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut waiting = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
        if !matches!(poll(&mut waiting, PollTimeout::ZERO), Ok(1)) {
            return Ok(());
        }
        let mut block = [0; 4096];
        match pipe.read(&mut block) {
            Ok(0) => self.pipe = None,
            Ok(count) => {
                let room = KEPT_MAX.saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&block[..count.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Waits for the end of a child, until the deadline.
fn end_by(child: &mut Child, deadline: Instant) -> io::Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Option<Output> {
        output_within(Command::new("sh").args(["-c", script]).stdin(Stdio::null()), limit).unwrap()
    }

    #[test]
    fn what_a_command_wrote_is_whole_and_in_its_stream() {
        let script = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let output = shell(script, Duration::from_mins(1)).unwrap();
        assert_eq!((output.stdout.len(), output.stderr.len()), (300_000, 200_000));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_command_that_hangs_ends_with_what_it_started() {
        let started = Instant::now();
        for script in ["sleep 600 & echo $!; wait", "while :; do echo more; done"] {
            assert!(shell(script, Duration::from_millis(300)).is_none(), "{script}");
        }
        assert!(started.elapsed() < Duration::from_mins(1));
    }
}
