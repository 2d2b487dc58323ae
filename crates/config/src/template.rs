//! The template file of a prompt: a config keeps its text, so that a run is the same wherever the file goes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use whetstone_core::config::{self, AUTO, PromptConfig};
use whetstone_core::prompt::BUILT_IN;

/// The longest template, and a byte more to see that a file is longer.
const LIMIT_BYTES: u64 = (1 << 16) + 1;

/// Replaces the path of a template by the text of the file.
///
/// # Errors
///
/// If there is no such file, or it is no text.
pub(super) fn read(prompt: &mut PromptConfig) -> Result<(), config::Problem> {
    let named = prompt.template.as_str();
    let is_known = named == AUTO || BUILT_IN.iter().any(|(name, _)| *name == named);
    let path = Path::new(named);
    if is_known || named.contains('\n') || !path.is_file() {
        // What is no template either is a problem of the settings.
        return Ok(());
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LIMIT_BYTES).read_to_string(&mut text));
    read.map_err(|err| config::Problem {
        key: "prompt.template",
        message: format!("cannot read `{}`: {err}", path.display()),
        hint: "a template is a text file in minijinja; `whet prompt show --template plain --source` prints one",
    })?;
    // The end of the last line is the end of the file, not of the prompt; a text of one line is told from a name.
    prompt.template = if text.contains('\n') { text } else { text + "\n" };
    Ok(())
}
