//! Other machines, over HTTP.
#![forbid(unsafe_code)]
