//! Tests of the index and of the check, through the public interface.

mod api;
mod hostile;
mod index;
mod lifecycle;
mod program;
mod propagation;
mod quiet;
mod syntax;
