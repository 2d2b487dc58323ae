//! Other machines, over HTTP.
//!
//! [`chat`] asks a teacher for completions, [`hub`] fetches files of data sets and models; both
//! stand on [`http`], one small blocking client whose answers are bounded in time and in bytes. A
//! request that waits for a model costs a thread and nothing else, so there is no asynchronous
//! runtime here: `docs/adr/0013-http.md` has the figures.
//!
//! What comes from another machine is not trusted: a body ends at its limit, a file name that
//! leads out of its folder is refused, and text that goes into a message is shortened, has no
//! control characters and never holds our own key ([`secret`]).
//!
//! # Not here
//!
//! - Prompts, and what a reply means: `core` has both.
//! - Many requests at once: [`chat::Client`] is shared by as many threads as the caller starts.
//! - Streaming of tokens, HTTP/2, compression: nothing here would be faster for them.
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
pub mod secret;
mod shown;
