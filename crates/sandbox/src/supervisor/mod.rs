//! The supervisor: a small process that holds the expected values, keeps the clocks and compares.
//!
//! It is started before anything large is loaded, so that nothing large is ever forked. One thread
//! reads requests; one thread a slot judges them, each with a zygote of its own. There are more slots
//! than cores: see [`cores`].

mod broken;
mod checked;
mod child;
mod choose;
mod cores;
mod fault;
mod groups;
mod hard_limits;
pub(crate) mod leftovers;
mod nameless;
mod planned;
mod play;
mod room;
mod scratch;
mod setting;
mod slot;
mod steps;
mod stop;
mod tally;
mod watch;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::os;
use crate::protocol::{
    Hello, JudgeResponse, Outcome, Request, Start, VERSION, read_frame, write_frame,
};
use crate::start_problem::no_process;
pub use cores::slots;
use cores::{Cores, IdleMost};
pub use room::{SCRATCH_BYTES, free_bytes};
use setting::SupervisorSettings;
use slot::Slot;

/// The stack of a slot's thread: tests are parsed on it. Virtual memory, taken as it is touched.
const STACK: usize = 256 << 20;
/// Programs that sleep may hold this part of the machine's memory together, by their limits.
const IDLE_SHARE: u64 = 4;

/// How many programs may sleep at the same time, so that processes are left for those that compute.
///
/// Each may hold all the threads that a program may have. A quarter of what the user or the container may have
/// is for others, the rest for a thread and a zygote of each slot and for programs with their checkers.
fn idle_programs(workers: u32, slots: u32) -> u64 {
    const OF_ONE: u64 = watch::THREADS_MAX + 4;
    let (workers, slots) = (u64::from(workers), u64::from(slots));
    let most = SupervisorSettings::processes_max();
    (most - most / 4).saturating_sub(2 * slots + workers * OF_ONE) / OF_ONE
}

/// Serves the judge at the other end of standard input until it hangs up.
pub(crate) fn supervise() -> io::Result<()> {
    // Standard input is the connection; nothing else reads it.
    let connection = UnixStream::from(os::inherited(0)?);
    let Some(start) = read_frame::<Start>(&connection)? else { return Ok(()) };
    if start.v != VERSION {
        let problem = format!("version {} of the judge's protocol, not {VERSION}", start.v);
        return write_frame(&connection, &Hello::Refused(problem));
    }
    raise_limits();
    leftovers::clear(&start.scratch);
    let chosen = match choose::choose(&start) {
        Ok(chosen) => chosen,
        Err(problem) => return write_frame(&connection, &Hello::Refused(problem)),
    };
    let (setting, about) = (Arc::new(chosen.setting), chosen.about);
    let slots = about.slots;
    let (queue, requests) = mpsc::sync_channel::<Request>(2 * slots as usize);
    let memory = os::physical_memory() / IDLE_SHARE;
    let idle_most = IdleMost { memory, programs: idle_programs(about.workers, slots) };
    let cores = Cores::new(about.workers, idle_most);
    let requests = Arc::new(Mutex::new(requests));
    let answers = Arc::new(Mutex::new(connection.try_clone()?));
    let mut threads = Vec::new();
    for number in 0..slots {
        let (setting, requests, answers) = (setting.clone(), requests.clone(), answers.clone());
        let cores = cores.clone();
        let work = move || {
            let connection = Connection { requests: &requests, answers: &answers };
            serve(Slot::new(number, setting), &cores, connection);
        };
        match thread::Builder::new().stack_size(STACK).spawn(work) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                let problem = no_process(&error).unwrap_or_else(|| error.to_string());
                return write_frame(&connection, &Hello::Refused(problem));
            }
        }
    }
    write_frame(&connection, &Hello::Ready(about))?;
    // Whatever ends the connection, the programs and their walls are taken down in order.
    while let Ok(Some(request)) = read_frame::<Request>(&connection) {
        if queue.send(request).is_err() {
            break;
        }
    }
    child::CLOSING.store(true, Ordering::Relaxed);
    drop(queue);
    cores.close();
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

/// Raises soft limits, which are for what the user does: zygotes need files of their own, and every slot
/// some.
fn raise_limits() {
    hard_limits::raise_core();
    for limited in [Resource::RLIMIT_FSIZE, Resource::RLIMIT_NOFILE] {
        if let Ok((_, hard)) = getrlimit(limited) {
            let _ = setrlimit(limited, hard, hard);
        }
    }
}

/// The queue of requests and the socket for answers.
#[derive(Clone, Copy)]
struct Connection<'a> {
    requests: &'a Mutex<mpsc::Receiver<Request>>,
    answers: &'a Mutex<UnixStream>,
}

/// Judges requests until there are no more.
fn serve(mut slot: Slot, cores: &Arc<Cores>, connection: Connection<'_>) {
    let Connection { requests, answers } = connection;
    loop {
        // A slot keeps its core from one program to the next, unless a program gave it up.
        if !slot.has_core() {
            slot.use_core(None);
            let Some(permit) = cores.acquire(slot.number()) else { return };
            slot.use_core(Some(permit));
        }
        let request = match requests.lock() {
            Ok(requests) => requests.recv(),
            Err(_) => return,
        };
        let Ok(request) = request else { return };
        if child::CLOSING.load(Ordering::Relaxed) {
            return;
        }
        // A bug of ours must not leave a request unanswered, nor take down the other slots.
        let judged = catch_unwind(AssertUnwindSafe(|| match &request {
            Request::Judge(request) => slot.judge(request),
            Request::Play(request) => slot.play(request),
        }));
        let response = judged.unwrap_or_else(|_| {
            let problem = "the judge itself failed on this program: please report it".to_owned();
            JudgeResponse { id: request.id(), outcome: Outcome::Failed(problem) }
        });
        let Ok(mut answers) = answers.lock() else { return };
        if write_frame(&mut *answers, &response).and_then(|()| answers.flush()).is_err() {
            return;
        }
        drop(answers);
        slot.rest();
    }
}
