//! Advantages as plain arithmetic: no tensor, no I/O, no clock.
