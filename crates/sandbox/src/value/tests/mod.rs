//! What holds for all values: laws under generated ones, an oracle, and `CPython` itself.

mod laws;
mod oracle;
mod python;
