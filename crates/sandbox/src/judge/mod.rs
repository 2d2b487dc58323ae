//! The handle that the rest of Whetstone holds: start a supervisor, send it programs, wait for what
//! it saw.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use whetstone_core::judgement::{Infrastructure, Isolation, Judgement};

use crate::job::{Job, Judging, Unjudged};
use crate::protocol::{
    About, Hello, JudgeRequest, JudgeResponse, Outcome, Start, VERSION, read_frame, write_frame,
};
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
}

/// Why a judge cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The supervisor could not be started or spoken to.
    #[error("cannot start the judge")]
    Io(#[from] io::Error),
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
        }
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
            .spawn()?;
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
        };
        write_frame(&ours, &start)?;
        let about = read_hello(&ours, &mut process)?;
        let shared = Arc::new(JudgeConnection {
            connection: Mutex::new(ours.try_clone()?),
            waiting: Mutex::new(Some(HashMap::new())),
            next: AtomicU64::new(0),
        });
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || shared.read_answers(&ours))
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
        let (answer, ticket) = mpsc::channel();
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let gone = match lock(&self.shared.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, answer.clone()).is_some(),
            None => true,
        };
        if gone {
            let _ = answer.send(Outcome::Failed(GONE.to_owned()));
            return Ticket(ticket);
        }
        let request = JudgeRequest {
            id,
            program: job.program.clone(),
            setup: job.setup.to_owned(),
            tests: job.tests.clone(),
            cpu_ms: u64::try_from(job.limits.cpu.as_millis()).unwrap_or(u64::MAX),
            memory: job.limits.memory,
        };
        let sent = {
            let mut connection = lock(&self.shared.connection);
            write_frame(&mut *connection, &request).and_then(|()| connection.flush())
        };
        if let Err(error) = sent {
            if let Some(waiting) = lock(&self.shared.waiting).as_mut() {
                waiting.remove(&id);
            }
            let _ = answer.send(Outcome::Failed(format!("{GONE}: {error}")));
        }
        Ticket(ticket)
    }
}

const GONE: &str = "the judge's supervisor is gone";

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
        Ok(None) => {
            let _ = process.wait();
            Err(StartError::Refused("the supervisor ended at once".to_owned()))
        }
        Err(error) => {
            let _ = process.kill();
            let _ = process.wait();
            Err(error.into())
        }
    }
}

impl Ticket {
    /// Waits for the answer.
    pub fn wait(self) -> Result<Judgement, Unjudged> {
        match self.0.recv() {
            Ok(Outcome::Judged(judgement)) => Ok(judgement),
            Ok(Outcome::Failed(problem)) => Err(Infrastructure(problem).into()),
            Ok(Outcome::BrokenTests(problem)) => Err(Unjudged::BrokenTests(problem)),
            Err(_) => Err(Infrastructure(GONE.to_owned()).into()),
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
