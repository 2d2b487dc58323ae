//! The system call filter from the inside.
