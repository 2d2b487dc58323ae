//! The two processes that this crate needs of the binary it is built into.
//!
//! A binary hands the arguments behind its hidden command to [`run`]; `whet __judge …` does.

use crate::supervisor;
use crate::zygote::launch::{ZygoteOptions, launch};

/// Runs as a supervisor or becomes a zygote, as the arguments say.
///
/// What goes wrong is returned, for the binary to print on standard error.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // A shell that has files open hands them on to what it starts: their numbers are needed, and no program may
    // find them. Whatever we hand on ourselves is on standard input.
    let _: std::io::Result<()> = crate::os::close_strangers();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["supervise"] => supervisor::supervise().map_err(|error| error.to_string()),
        ["zygote", wanted] => {
            let wanted: ZygoteOptions =
                serde_json::from_str(wanted).map_err(|error| error.to_string())?;
            Err(launch(&wanted, 0))
        }
        _ => Err("this command is for Whetstone itself".to_owned()),
    }
}
