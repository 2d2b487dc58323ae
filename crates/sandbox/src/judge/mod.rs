//! The handle that the rest of Whetstone holds: start a supervisor, send it programs, wait for what
//! it saw.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use whetstone_core::judgement::{Infrastructure, Isolation, Judgement};

use crate::job::{Job, Judging, Limits, Unjudged};
use crate::phaser::{Installation, PlayJob, Run};
use crate::protocol::{
    About, Hello, JudgeRequest, JudgeResponse, Outcome, PlayRequest, Request, Start, VERSION,
    read_frame, write_frame,
};
use crate::start_problem::{no_process, start_problem};
use crate::supervisor::leftovers;

/// The options of a judge.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command that starts this binary as a supervisor: see [`entry`](crate::entry).
    pub command: Vec<String>,
    /// The interpreter for Python programs: a command, or a path.
    pub python: String,
    /// Programs that compute at the same time; 0 means one for each core.
    pub workers: u32,
    /// Refuse to run below this.
    pub minimum: Isolation,
    /// Do not try above this; for tests, and to find a fault.
    pub ceiling: Isolation,
    /// The parent of program folders, if programs need one outside the sandbox.
    pub scratch: PathBuf,
    /// What Python's hashes of text start from: the order in which a set of strings is gone through
    /// depends on it. Another one shows which programs depend on that order.
    pub hash_seed: u32,
    /// Use no later version of Landlock than this; for tests, which ask what an older kernel holds.
    pub landlock: u32,
    /// The Phaser for programs that use it; without one [`Judge::play`] is refused.
    pub phaser: Option<Installation>,
}

/// Why a judge cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The supervisor could not be started or spoken to. Its text has the cause, because findings and failures
    /// keep the text alone.
    #[error("cannot start the judge: {0}")]
    Io(io::Error),
    /// It says that it cannot judge.
    #[error("{0}")]
    Refused(String),
}

/// A handle to a supervisor. Cheap to share: many threads may judge at once.
#[derive(Debug)]
pub struct Judge {
    about: About,
    shared: Arc<JudgeConnection>,
    process: Child,
    reader: Option<JoinHandle<()>>,
    scratch: PathBuf,
}

#[derive(Debug)]
struct JudgeConnection {
    connection: Mutex<UnixStream>,
    /// The receivers of pending answers by request; `None` once the supervisor has ended.
    waiting: Mutex<Option<HashMap<u64, mpsc::Sender<Outcome>>>>,
    next: AtomicU64,
}

/// An answer to come.
#[derive(Debug)]
pub struct Ticket(mpsc::Receiver<Outcome>);

/// The run of a program that uses Phaser, to come.
#[derive(Debug)]
pub struct PlayTicket(mpsc::Receiver<Outcome>);

impl Options {
    /// Everything by default, with this command.
    pub fn new(command: Vec<String>) -> Self {
        Self {
            command,
            python: "python3".to_owned(),
            workers: 0,
            minimum: Isolation::Landlock,
            ceiling: Isolation::Full,
            scratch: std::env::temp_dir(),
            hash_seed: 0,
            landlock: u32::MAX,
            phaser: None,
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Judge {
    /// Starts a supervisor and waits until it can judge.
    pub fn start(options: &Options) -> Result<Self, StartError> {
        let (ours, theirs) = UnixStream::pair()?;
        let (program, arguments) = options
            .command
            .split_first()
            .ok_or_else(|| io::Error::other("no command for the supervisor"))?;
        let mut process = Command::new(program)
            .args(arguments)
            .arg("supervise")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|error| {
                let told = start_problem(program, &error);
                let told = told.unwrap_or_else(|| format!("`{program}`: {error}"));
                io::Error::new(error.kind(), told)
            })?;
        let start = Start {
            v: VERSION,
            command: options.command.clone(),
            python: options.python.clone(),
            workers: options.workers,
            minimum: options.minimum,
            ceiling: options.ceiling,
            scratch: options.scratch.clone(),
            hash_seed: options.hash_seed,
            landlock: options.landlock,
            phaser: options.phaser.clone(),
        };
        // One that has ended already cannot read it; its end says more than that.
        let _: io::Result<()> = write_frame(&ours, &start);
        let about = read_hello(&ours, &mut process)?;
        let shared = Arc::new(JudgeConnection {
            connection: Mutex::new(ours.try_clone()?),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(0),
        });
        let reader = {
            let shared = shared.clone();
            let reader = thread::Builder::new().spawn(move || shared.read_answers(&ours));
            reader.map_err(|error| match no_process(&error) {
                Some(problem) => io::Error::new(error.kind(), problem),
                None => error,
            })?
        };
        Ok(Self { about, shared, process, reader: Some(reader), scratch: options.scratch.clone() })
    }

    /// The isolation on this machine.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The supervisor's process id.
    pub fn supervisor(&self) -> u32 {
        self.process.id()
    }

    /// Sends a program; blocks only while the supervisor's queue is full.
    pub fn submit(&self, job: Job<'_>) -> Ticket {
        Ticket(self.send(|id| {
            Request::Judge(JudgeRequest {
                id,
                program: job.program.clone(),
                setup: job.setup.to_owned(),
                tests: job.tests.clone(),
                cpu_ms: milliseconds(job.limits),
                memory: job.limits.memory,
            })
        }))
    }

    /// Sends a program that uses Phaser; blocks only while the supervisor's queue is full.
    pub fn submit_play(&self, job: PlayJob<'_>) -> PlayTicket {
        PlayTicket(self.send(|id| {
            Request::Play(PlayRequest {
                id,
                source: job.source.to_owned(),
                settings: job.settings.clone(),
                cpu_ms: milliseconds(job.limits),
                memory: job.limits.memory,
            })
        }))
    }

    /// Runs a program that uses Phaser; blocks until it is done.
    pub fn play(&self, job: PlayJob<'_>) -> Result<Run, Infrastructure> {
        self.submit_play(job).wait()
    }

    fn send(&self, request: impl FnOnce(u64) -> Request) -> mpsc::Receiver<Outcome> {
        let (answer, ticket) = mpsc::channel();
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let gone = match lock(&self.shared.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, answer.clone()).is_some(),
            None => true,
        };
        if gone {
            let _ = answer.send(Outcome::Failed(GONE.to_owned()));
            return ticket;
        }
        let sent = {
            let mut connection = lock(&self.shared.connection);
            write_frame(&mut *connection, &request(id)).and_then(|()| connection.flush())
        };
        if let Err(error) = sent {
            if let Some(waiting) = lock(&self.shared.waiting).as_mut() {
                waiting.remove(&id);
            }
            let _ = answer.send(Outcome::Failed(format!("{GONE}: {error}")));
        }
        ticket
    }
}

fn milliseconds(limits: Limits) -> u64 {
    u64::try_from(limits.cpu.as_millis()).unwrap_or(u64::MAX)
}

const GONE: &str = "the judge's supervisor is gone";
const CONFUSED: &str = "the judge's supervisor answers another question";

impl Judging for Judge {
    fn judge(&self, job: Job<'_>) -> Result<Judgement, Unjudged> {
        self.submit(job).wait()
    }
}

/// Waits for the supervisor's first frame; if it cannot judge, waits for its end too.
fn read_hello(connection: &UnixStream, process: &mut Child) -> Result<About, StartError> {
    match read_frame(connection) {
        Ok(Some(Hello::Ready(about))) => Ok(about),
        Ok(Some(Hello::Refused(problem))) => {
            let _ = process.wait();
            Err(StartError::Refused(problem))
        }
        Ok(None) => Err(StartError::Refused(ended_at_once(process.wait()?))),
        // It ended before it had read everything.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
            Err(StartError::Refused(ended_at_once(process.wait()?)))
        }
        Err(error) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(error.into())
        }
    }
}

/// What is known of a supervisor that ended without a word on its connection.
fn ended_at_once(status: ExitStatus) -> String {
    format!(
        "the supervisor ended at once ({status}); what it wrote on standard error says why; if that is \
         nothing, compare `ulimit -u` and `ulimit -v`"
    )
}

impl Ticket {
    /// Waits for the answer.
    pub fn wait(self) -> Result<Judgement, Unjudged> {
        match self.0.recv() {
            Ok(Outcome::Judged(judgement)) => Ok(judgement),
            Ok(Outcome::Failed(problem)) => Err(Infrastructure(problem).into()),
            Ok(Outcome::BrokenTests(problem)) => Err(Unjudged::BrokenTests(problem)),
            Ok(Outcome::Played(_)) => Err(Infrastructure(CONFUSED.to_owned()).into()),
            Err(_) => Err(Infrastructure(GONE.to_owned()).into()),
        }
    }
}

impl PlayTicket {
    /// Waits for the run.
    pub fn wait(self) -> Result<Run, Infrastructure> {
        match self.0.recv() {
            Ok(Outcome::Played(run)) => Ok(*run),
            Ok(Outcome::Failed(problem) | Outcome::BrokenTests(problem)) => {
                Err(Infrastructure(problem))
            }
            Ok(Outcome::Judged(_)) => Err(Infrastructure(CONFUSED.to_owned())),
            Err(_) => Err(Infrastructure(GONE.to_owned())),
        }
    }
}

impl JudgeConnection {
    fn read_answers(&self, connection: &UnixStream) {
        let connection = io::BufReader::new(connection);
        let mut connection = connection;
        while let Ok(Some(JudgeResponse { id, outcome })) = read_frame(&mut connection) {
            let waiting = lock(&self.waiting).as_mut().and_then(|waiting| waiting.remove(&id));
            if let Some(waiting) = waiting {
                let _ = waiting.send(outcome);
            }
        }
        // Those who still wait see their channel close.
        *lock(&self.waiting) = None;
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = lock(&self.shared.connection).shutdown(std::net::Shutdown::Write);
        let ended = self.process.wait();
        if !ended.is_ok_and(|status| status.success()) {
            leftovers::clear(&self.scratch);
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// A thread that panicked with the lock left nothing half-done that matters.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
