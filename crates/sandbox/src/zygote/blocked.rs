//! Which folder keeps the user of programs from a path, for messages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The first folder on the way to `path` that this process may not enter.
pub(super) fn blocked_at(path: &Path) -> Option<PathBuf> {
    first_blocked(path, |folder| {
        let inside = fs::metadata(folder.join("."));
        inside.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    })
}

fn first_blocked(path: &Path, is_blocked: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    folders.into_iter().find(|folder| is_blocked(folder)).map(Path::to_owned)
}

/// Why the interpreter cannot be executed by a user without rights to it.
pub(super) fn interpreter_problem(
    interpreter: &str,
    user: Option<u32>,
    folder: Option<&Path>,
) -> String {
    let who = user.map_or("you".to_owned(), |user| format!("user {user}, as whom programs run,"));
    let place = folder.map_or("its file".to_owned(), |folder| folder.display().to_string());
    let verb = if folder.is_some() { "enter" } else { "execute" };
    format!(
        "cannot execute {interpreter}: {who} may not {verb} {place}: install python3 elsewhere, or name another \
         with `--set sandbox.python=/usr/bin/python3`"
    )
}

/// Why programs cannot use their folder.
pub(super) fn scratch_problem(scratch: &Path, user: u32, folder: Option<&Path>) -> String {
    let (verb, place) = folder.map_or(("use", scratch), |folder| ("enter", folder));
    format!(
        "the folder for programs' files, {}, cannot be opened: user {user}, as whom programs run, may not {verb} \
         {}: set TMPDIR to a folder that others may enter",
        scratch.display(),
        place.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_folder_that_cannot_be_entered_is_the_one() {
        let path = Path::new("/home/ann/tmp/whet-1");
        let closed = |folder: &Path| folder.starts_with("/home/ann");
        assert_eq!(first_blocked(path, closed), Some("/home/ann".into()));
        assert_eq!(first_blocked(path, |folder| folder == path), None);
        assert_eq!(blocked_at(&std::env::current_exe().unwrap()), None);
    }

    #[test]
    fn a_closed_folder_is_named_with_what_to_set() {
        let home = Path::new("/home/ada");
        assert_eq!(
            interpreter_problem("/home/ada/bin/python3.11", Some(200_001), Some(home)),
            "cannot execute /home/ada/bin/python3.11: user 200001, as whom programs run, may not enter /home/ada: \
             install python3 elsewhere, or name another with `--set sandbox.python=/usr/bin/python3`"
        );
        let alone = interpreter_problem("/opt/python3", None, None);
        assert!(alone.contains("you may not execute its file: install"), "{alone}");
        assert_eq!(
            scratch_problem(
                Path::new("/home/ann/tmp/whet-1"),
                200_001,
                Some(Path::new("/home/ann"))
            ),
            "the folder for programs' files, /home/ann/tmp/whet-1, cannot be opened: user 200001, as whom \
             programs run, may not enter /home/ann: set TMPDIR to a folder that others may enter"
        );
    }
}
