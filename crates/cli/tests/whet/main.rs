//! The real binary, run as a user runs it.

mod binary;
mod config;
mod defaults;
mod doctor;
mod help;
mod hub;
mod prepare;
mod reference;
mod score;
mod teach;
mod teach_kill;
mod validate;
