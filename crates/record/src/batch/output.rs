//! Outputs: replaced as a whole, and never in the place of an input.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::atomic;
use crate::error::{BatchError, FileError};

/// Replaces `path` with what `write` writes, or leaves it as it was; an error of `write` is the one
/// that is returned.
pub fn replace_output<E: From<FileError>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut stopped = None;
    let written = atomic::replace_with(path, |out| {
        write(out).map_err(|err| {
            stopped = Some(err);
            io::Error::other("stopped")
        })
    });
    match stopped {
        Some(err) => Err(err),
        None => Ok(written?),
    }
}

/// Refuses an output that is one of the inputs, which are read again while it is written, or that is
/// named twice.
pub fn check_outputs<'p>(
    inputs: impl IntoIterator<Item = &'p Path>,
    outputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), BatchError> {
    let resolved = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut taken: Vec<PathBuf> = inputs.into_iter().map(resolved).collect();
    for output in outputs {
        let place = resolved(output);
        if taken.contains(&place) {
            return Err(BatchError::SameFile { path: output.to_owned() });
        }
        taken.push(place);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_error_of_the_writer_is_returned_and_the_old_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let write = |text: &'static str, err: Option<BatchError>| {
            replace_output::<BatchError>(&path, |out| {
                out.write_all(text.as_bytes()).map_err(FileError::at("write", &path))?;
                err.map_or(Ok(()), Err)
            })
        };
        write("old", None).unwrap();
        let err = write("new", Some(BatchError::Changed { noun: "tasks" })).unwrap_err();
        assert_eq!(err.to_string(), "the tasks changed while they were read");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary is left");
    }

    #[test]
    fn an_output_is_no_input_under_another_name_and_not_named_twice() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("in"), "").unwrap();
        std::os::unix::fs::symlink(path("in"), path("link")).unwrap();
        let check = |outputs: &[&str]| {
            let outputs: Vec<_> = outputs.iter().map(|name| path(name)).collect();
            check_outputs([path("in").as_path()], outputs.iter().map(PathBuf::as_path)).is_ok()
        };
        assert!(check(&["out", "other"]));
        assert!(!check(&["in"]) && !check(&["link"]) && !check(&["out", "out"]));
    }
}
