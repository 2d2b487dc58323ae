//! The files of a bundle.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder as one file beside it, with its size.
pub(super) fn pack(dir: &Path) -> Result<(PathBuf, u64), String> {
    let packed = dir.with_extension("tar.gz");
    let made = Command::new("tar").arg("-czf").arg(&packed).arg("-C").arg(dir).arg(".").status();
    match made {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("`tar` ended with {status}")),
        Err(err) => return Err(format!("cannot start `tar`: {err}")),
    }
    let size = fs::metadata(&packed).map_err(|err| format!("{}: {err}", packed.display()))?;
    Ok((packed, size.len()))
}

/// A folder with all that is in it; says how many bytes.
pub(super) fn copy_folder(from: &Path, to: &Path) -> io::Result<u64> {
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        bytes += if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?
        } else {
            fs::copy(entry.path(), target)?
        };
    }
    Ok(bytes)
}

/// A copy without symbols, which are most of a program of the dev profile.
pub(crate) fn strip(from: &Path, to: &Path) -> Result<(), String> {
    let _ = fs::remove_file(to);
    match Command::new("strip").arg("-o").arg(to).arg(from).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`strip` ended with {status} for {}", from.display())),
        Err(err) => Err(format!("cannot start `strip` (it comes with binutils): {err}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_folder_has_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("bundle");
        fs::create_dir_all(bundle.join("a")).unwrap();
        fs::write(bundle.join("a/one"), "1").unwrap();
        let (packed, bytes) = pack(&bundle).unwrap();
        assert_eq!(packed, dir.path().join("bundle.tar.gz"));
        assert!(bytes > 0);
        let there = dir.path().join("there");
        fs::create_dir(&there).unwrap();
        let args = [Path::new("-xzf"), &packed, Path::new("-C"), &there];
        assert!(Command::new("tar").args(args).status().unwrap().success());
        assert_eq!(fs::read_to_string(there.join("a/one")).unwrap(), "1");
    }

    #[test]
    fn a_folder_is_copied_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/one"), "1").unwrap();
        fs::write(dir.path().join("a/b/two"), "22").unwrap();
        let to = dir.path().join("c");
        assert_eq!(copy_folder(&dir.path().join("a"), &to).unwrap(), 3);
        assert_eq!(fs::read_to_string(to.join("b/two")).unwrap(), "22");
    }
}
