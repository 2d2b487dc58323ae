//! A small HTTP/1.1 server: one thread and one request for each connection, then it is closed.
//!
//! A handler is a function from a [`Request`] to a [`Response`], whose body may be streamed. The
//! server refuses what every handler would have to: heads that are too long or too slow, methods
//! other than GET and HEAD, bodies, and foreign host names. Every response has headers that prevent
//! a browser from sniffing, caching and sharing it.
//!
//! Threads, and no asynchronous runtime: a person has a few tabs open (`docs/adr/0015-board.md`).
//!
//! Not here: routes. And no bodies of requests yet; who needs one adds it with its bounds.

mod connection;
mod host;
mod request;
mod response;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use self::connection::{answer, turn_away};
pub use self::host::Hosts;
pub use self::request::{Method, Refusal, Request, parse};
pub use self::response::{Body, Kind, Response, Writer};

/// Limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Concurrent connections; further ones are told to retry.
    pub connections: usize,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// From the first byte of a request to its last.
    pub head_time: Duration,
    /// Timeout of writing a response.
    pub write_time: Duration,
    /// From the first byte of an answer to its last.
    pub answer_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 32,
            head_bytes: 8 << 10,
            head_time: Duration::from_secs(5),
            write_time: Duration::from_secs(10),
            answer_time: Duration::from_mins(5),
        }
    }
}

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    /// Where.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub source: io::Error,
}

impl ListenError {
    /// A suggestion for the user.
    pub fn hint(&self) -> &'static str {
        match self.source.kind() {
            io::ErrorKind::AddrInUse => {
                "the address is in use, perhaps by another board: choose another port with `--port`, \
                 or any free one with `--port 0`"
            }
            io::ErrorKind::PermissionDenied => "choose a port above 1023 with `--port`",
            io::ErrorKind::AddrNotAvailable => "name an address of this machine with `--host`",
            _ => "try `--host 127.0.0.1 --port 0`",
        }
    }
}

/// A server that listens, and answers once it is [run](Server::run).
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    hosts: Hosts,
    limits: Limits,
}

impl Server {
    /// Listens on an address. Port 0 takes any that is free.
    pub fn listen(host: IpAddr, port: u16) -> Result<Self, ListenError> {
        let address = SocketAddr::new(host, port);
        let failed = |source| ListenError { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, hosts: Hosts::new(bound), limits: Limits::default() })
    }

    /// Answers within other limits.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.hosts.bound()
    }

    /// The URL for a browser on this machine.
    pub fn url(&self) -> String {
        let bound = self.hosts.bound();
        match bound.ip() {
            ip if ip.is_unspecified() => format!("http://localhost:{}/", bound.port()),
            _ => format!("http://{bound}/"),
        }
    }

    /// Answers requests for as long as the process lives.
    pub fn run(self, handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> ! {
        let shared = Arc::new(Shared { handler, hosts: self.hosts, limits: self.limits });
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok((stream, _)) = self.listener.accept() else {
                // Out of descriptors, most likely: others must close first.
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let place = Place::take(&open);
            if place.number > self.limits.connections {
                turn_away(stream, self.limits);
                continue;
            }
            start(stream, place, &shared);
        }
    }
}

/// One of the connections that are open.
struct Place {
    open: Arc<AtomicUsize>,
    number: usize,
}

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        let number = open.fetch_add(1, Ordering::AcqRel) + 1;
        Self { open: Arc::clone(open), number }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// State shared by the threads of all connections.
struct Shared<H> {
    handler: H,
    hosts: Hosts,
    limits: Limits,
}

/// Answers a connection in a thread of its own. If none can be started, the connection is closed.
fn start<H>(stream: TcpStream, place: Place, shared: &Arc<Shared<H>>)
where
    H: Fn(&Request) -> Response + Send + Sync + 'static,
{
    let shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("connection".to_owned());
    let started = thread.spawn(move || {
        let Shared { handler, hosts, limits } = &*shared;
        answer(stream, handler, hosts, limits);
        drop(place);
    });
    if let Err(err) = started {
        tracing::warn!("no thread for a connection: {err}");
    }
}
