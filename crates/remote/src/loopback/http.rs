//! A small HTTP/1.1 server: one thread a connection, and answers that can break in the middle.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The request of a client.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, `HEAD`, `POST`.
    pub method: String,
    /// Path with query, as it came.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// The reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The encoding of the reply.
    pub wire: Wire,
}

/// The encoding of a reply on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Complete, with its length.
    Whole,
    /// Complete, in chunks of this many bytes.
    Chunked(usize),
    /// The connection ends in the middle of the headers.
    CutInHeaders,
    /// The connection ends after this many bytes of the body.
    CutInBody(usize),
    /// With this `Content-Length`, whatever the body is; then the connection ends.
    ClaimedLength(usize),
    /// No length; the body ends with the connection.
    UntilClose,
    /// Complete, with its length, one byte at a time with this pause before each.
    Dripping(Duration),
    /// Nothing is sent until the client goes away.
    Silence,
    /// Not HTTP.
    Noise,
}

/// A server that ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_ending: AtomicBool,
    connections: AtomicU64,
    open: Mutex<BTreeMap<u64, TcpStream>>,
}

type Handler = dyn Fn(&Asked) -> Reply + Send + Sync;

impl Reply {
    /// A reply with a body of some type.
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body: body.into(), wire: Wire::Whole }
    }

    /// JSON.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// The same reply with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &(impl ToString + ?Sized)) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// The same reply with another encoding.
    #[must_use]
    pub fn sent(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }
}

impl Server {
    /// Listens on a free port; `handler` answers, on the thread of the connection.
    ///
    /// # Panics
    ///
    /// If this machine has no loopback.
    pub fn start(handler: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a port was bound");
        let shared = Arc::new(Shared::default());
        let (handler, own) = (Arc::new(handler), Arc::clone(&shared));
        let listener = thread::spawn(move || listen(&listener, &own, &(handler as Arc<Handler>)));
        Self { address, shared, listener: Some(listener) }
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        // Wakes the listener; if that fails, it has already ended.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>, handler: &Arc<Handler>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.is_ending.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else { continue };
        let id = shared.connections.fetch_add(1, Ordering::SeqCst);
        if let Ok(copy) = stream.try_clone() {
            shared.lock().insert(id, copy);
        }
        let (shared, handler) = (Arc::clone(shared), Arc::clone(handler));
        threads.push(thread::spawn(move || {
            // A client that disconnects is not an error for a server.
            drop(serve(&stream, &*handler));
            drop(stream.shutdown(Shutdown::Both));
            shared.lock().remove(&id);
        }));
    }
    for stream in shared.lock().values() {
        drop(stream.shutdown(Shutdown::Both));
    }
    for thread in threads {
        drop(thread.join());
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(stream: &TcpStream, handler: &Handler) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read_request(&mut reader)? {
        let reply = handler(&asked);
        let goes_on = send(stream, &reply, asked.method == "HEAD")?;
        if reply.wire == Wire::Silence {
            // Until the client goes, or the server ends.
            io::copy(&mut reader, &mut io::sink())?;
        }
        if !goes_on {
            break;
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, path, headers, body }))
}

/// Sends a reply; returns whether the connection stays open.
fn send(mut stream: &TcpStream, reply: &Reply, is_head: bool) -> io::Result<bool> {
    let headers = reply.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let head = format!("HTTP/1.1 {} Answer\r\n{}", reply.status, headers.collect::<String>());
    let length = |bytes: usize| format!("content-length: {bytes}\r\n\r\n");
    let body = if is_head { &[][..] } else { &reply.body[..] };
    let whole = reply.body.len();
    let (end, sent, goes_on) = match reply.wire {
        Wire::Whole => (length(whole), body, true),
        Wire::Dripping(_) => (length(whole), &[][..], true),
        Wire::Chunked(_) => ("transfer-encoding: chunked\r\n\r\n".to_owned(), &[][..], true),
        Wire::CutInHeaders => ("content-len".to_owned(), &[][..], false),
        Wire::CutInBody(at) => (length(whole), &body[..at.min(body.len())], false),
        Wire::ClaimedLength(claimed) => (length(claimed), body, false),
        Wire::UntilClose => ("connection: close\r\n\r\n".to_owned(), body, false),
        Wire::Silence => return Ok(false),
        Wire::Noise => {
            stream.write_all(b"\x16\x03\x01 this is no HTTP\r\n\r\n")?;
            return Ok(false);
        }
    };
    let mut bytes = (head + &end).into_bytes();
    bytes.extend_from_slice(sent);
    stream.write_all(&bytes)?;
    if let (Wire::Chunked(size), false) = (reply.wire, is_head) {
        for chunk in body.chunks(size.max(1)) {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(chunk)?;
            stream.write_all(b"\r\n")?;
        }
        stream.write_all(b"0\r\n\r\n")?;
    }
    if let (Wire::Dripping(pause), false) = (reply.wire, is_head) {
        for byte in body {
            thread::sleep(pause);
            stream.write_all(&[*byte])?;
        }
    }
    Ok(goes_on)
}
