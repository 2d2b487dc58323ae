//! The location of a run, and the settings it is created with.

use std::path::Path;

use whetstone_core::config::Config;

/// The location of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunLocation<'a> {
    /// The folder of all runs.
    pub root: &'a Path,
    /// The run's name.
    pub name: &'a str,
}

/// Settings and command line of a new run.
#[derive(Debug, Clone, Copy)]
pub struct RunStart<'a> {
    /// The settings.
    pub config: &'a Config,
    /// The settings as they are kept with the run.
    pub config_text: &'a str,
    /// The command line.
    pub command: &'a str,
}
