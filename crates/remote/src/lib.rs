//! Other machines, over HTTP.
//!
//! [`chat`] requests completions from a teacher, [`hub`] downloads data sets and models; both use
//! [`http`], a small blocking client whose answers are limited in time and bytes. A request that
//! waits for a model costs one thread, so there is no asynchronous runtime here:
//! `docs/adr/0013-http.md` has the figures.
//!
//! Data from another machine is not trusted: a body ends at its limit, a file name that leads out
//! of its folder is refused, and text that goes into a message is shortened, has no control
//! characters and never contains our own key ([`secret`]).
//!
//! # Not here
//!
//! - Prompts, and the meaning of a reply: `core` has both.
//! - Concurrency: [`chat::Client`] is shared by as many threads as the caller starts.
//! - Streaming of tokens, HTTP/2, compression: nothing here would be faster with them.
//! - Printing, and files of a run.
#![forbid(unsafe_code)]

pub mod chat;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod hub;
#[cfg(any(test, feature = "loopback"))]
#[doc(hidden)]
pub mod loopback;
pub mod retry;
pub mod secret;
mod shown;
