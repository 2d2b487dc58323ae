//! The HTTP server: the board of runs.
//!
//! [`http`] is a small server for any handler; [`board`] is the only handler. Everyone who can
//! reach a board can read completions and the hidden tests, and its pages contain hostile text.
//! Therefore the following is refused, each with its test:
//!
//! | promise | held by |
//! |---|---|
//! | No bytes make it panic, and none but its own paths are answered with 200. | `http/request.rs`, `tests/board/laws.rs` |
//! | Nothing outside the folder is read: no path names it, and no symbolic link leads there. | `board/folder.rs`, `tests/board/outside.rs` |
//! | A page of another origin cannot read it, by another name of this machine (DNS rebinding) or otherwise. | `http/host.rs`, `tests/board/requests.rs` |
//! | A connection holds a bounded head, for a bounded time, and there is a bounded number of them. | `tests/board/limits.rs` |
//!
//! # Not here
//!
//! - TLS, passwords, users: a board listens on this machine, and who serves it to others puts it behind
//!   something that knows whom to let in.
//! - Bodies of requests. Nothing that is served changes anything.
//! - Writing: a board never touches a run.

#![forbid(unsafe_code)]

pub mod board;
pub mod http;
