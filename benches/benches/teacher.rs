//! How busy the chat client keeps a server that could always work.
//!
//! ```sh
//! cargo bench -p whetstone-benches --bench teacher             # a table
//! cargo bench -p whetstone-benches --bench teacher -- --json   # for benches/baselines/
//! ```
//!
//! 10,000 requests from 32 threads to a server on this machine that has 32 places and takes 50 ms
//! for each answer: at best 15.6 s. `busy_share` is how much of the time its places were taken, by
//! the server's own clock, and must be 95 % at least; `ideal_share` is 15.6 s in the time it took,
//! which also counts what the machine adds to 50 ms. Server and client share the machine's cores.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use whetstone_core::Message;
use whetstone_core::config::TeacherConfig;
use whetstone_remote::chat::{Client, Request, Settings};
use whetstone_remote::loopback::chat::{ChatServer, Manners};

const REQUESTS: u32 = 10_000;
const THREADS: u32 = 32;
const LATENCY: Duration = Duration::from_millis(50);
const ENOUGH: f64 = 0.95;

fn main() -> Result<(), Box<dyn Error>> {
    let (measured, share) = measure()?;
    if std::env::args().any(|arg| arg == "--json") {
        println!("{measured:#}");
    } else {
        for (name, value) in measured.as_object().into_iter().flatten() {
            println!("{name:<24} {value:>12}");
        }
    }
    if share < ENOUGH {
        return Err(format!("the server was busy {share:.3} of the time").into());
    }
    Ok(())
}

fn measure() -> Result<(Value, f64), Box<dyn Error>> {
    let manners = Manners { latency: LATENCY, places: THREADS as usize, ..Manners::default() };
    let server = ChatServer::start(manners);
    let settings = Settings { api_url: server.url(), ..Settings::default() };
    let client = Client::with_key(&settings, None)?;
    let next = AtomicU32::new(0);
    let (start, cpu) = (Instant::now(), cpu_s()?);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| ask_all(&client, &next));
        }
    });
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_s()? - cpu);
    assert_eq!(server.asked(), u64::from(REQUESTS), "every request once");
    let ideal = f64::from(REQUESTS) * LATENCY.as_secs_f64() / f64::from(THREADS);
    let share = server.busy().as_secs_f64() / (wall * f64::from(THREADS));
    let rounded = |value: f64, digits: f64| (value * digits).round() / digits;
    let measured = json!({
        "requests": REQUESTS,
        "wall_s": rounded(wall, 1e2),
        "ideal_s": rounded(ideal, 1e2),
        "busy_share": rounded(share, 1e3),
        "ideal_share": rounded(ideal / wall, 1e3),
        "requests_per_s": (f64::from(REQUESTS) / wall).round(),
        "cpu_us_a_request": (cpu * 1e6 / f64::from(REQUESTS)).round(),
        "connections": server.connections(),
    });
    Ok((measured, share))
}

/// Asks until all is asked.
fn ask_all(client: &Client, next: &AtomicU32) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= REQUESTS {
            return;
        }
        let statement = format!("Task {number}. {}", "Return the sum of a list. ".repeat(25));
        let request = Request::of(&TeacherConfig::default(), vec![Message::user(statement)]);
        let response = client.complete(&request).expect("the server behaves");
        assert!(response.completions[0].text.contains("```python"), "an answer");
    }
}

/// CPU seconds of this process: the client and the server.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros)?).as_secs_f64())
}
