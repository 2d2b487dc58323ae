//! Opening the files of a run: regular files alone, within bounds, never waiting.
//!
//! A run folder may come from another user. A name in it can be a pipe, on which reading would
//! block, a device, which has no end, a socket, or a link to any of them. Everything that is read
//! from a run goes through here: the last component is not followed if it is a link (`O_NOFOLLOW`),
//! opening never blocks (`O_NONBLOCK`), and the opened file must be a regular file.
//!
//! Links: the files of a run are never links, because no writer of ours makes them so. The folder of a
//! run and the folders in it may be links, for those who keep large files on another disk; the board
//! follows them only as long as they end in its own folder.
//!
//! Not here: files that the user names on the command line. They may be links and pipes.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Flags of every opening: a link is refused, a pipe is not waited for, a terminal is not taken over.
const FLAGS: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;

/// Opens a regular file for reading.
pub fn open_plain(path: &Path) -> io::Result<File> {
    open_with(path, File::options().read(true))
}

/// Opens a regular file with these options.
pub(crate) fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // Opening a device can have side effects, so its type is checked first.
    check_plain(path)?;
    let file = options.custom_flags(FLAGS).open(path).map_err(|err| {
        if err.raw_os_error() == Some(libc::ELOOP) { refused("a symbolic link") } else { err }
    })?;
    match kind(file.metadata()?.file_type()) {
        None => Ok(file),
        Some(kind) => Err(refused(kind)),
    }
}

/// Reads a whole regular file of at most `limit_bytes`.
pub fn read_plain(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_plain(path)?;
    let too_large = || {
        let problem = format!("it has more than {limit_bytes} bytes");
        io::Error::new(io::ErrorKind::InvalidData, problem)
    };
    if file.metadata()?.len() > limit_bytes {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes { Err(too_large()) } else { Ok(bytes) }
}

/// Refuses a path at which there is something other than a regular file. A missing file is fine.
pub fn check_plain(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) => kind(found.file_type()).map_or(Ok(()), |kind| Err(refused(kind))),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(err) => Err(err),
    }
}

/// The kind of a file that is not a regular one.
fn kind(found: FileType) -> Option<&'static str> {
    if found.is_file() {
        return None;
    }
    Some(if found.is_symlink() {
        "a symbolic link"
    } else if found.is_dir() {
        "a directory"
    } else if found.is_fifo() {
        "a pipe"
    } else if found.is_socket() {
        "a socket"
    } else {
        "a device"
    })
}

fn refused(kind: &str) -> io::Error {
    let problem = format!("it is {kind}, expected a regular file");
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    #[test]
    fn whatever_is_no_regular_file_is_refused_by_its_kind_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        symlink(at("nothing"), at("dangling")).unwrap();
        let _socket = UnixListener::bind(at("socket")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let kinds = [
            ("folder", "a directory"),
            ("link", "a symbolic link"),
            ("zero", "a symbolic link"),
            ("loop", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("socket", "a socket"),
            ("pipe", "a pipe"),
        ];
        for (name, kind) in kinds {
            let message = format!("it is {kind}, expected a regular file");
            assert_eq!(open_plain(&at(name)).unwrap_err().to_string(), message, "{name}");
            assert_eq!(read_plain(&at(name), 10).unwrap_err().to_string(), message, "{name}");
            let write = open_with(&at(name), File::options().write(true).create(true));
            assert_eq!(write.unwrap_err().to_string(), message, "{name}");
        }
        let device = open_plain(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(device, "it is a device, expected a regular file");
        assert_eq!(fs::read(at("file")).unwrap(), b"text", "nothing was written through the link");
    }

    #[test]
    fn a_file_is_read_whole_up_to_its_limit_and_not_beyond() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_plain(&path, 5).unwrap(), b"12345");
        assert_eq!(read_plain(&path, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        let large = File::create(&path).unwrap();
        large.set_len(600 << 20).unwrap();
        assert!(read_plain(&path, 1 << 20).is_err());
        let missing = read_plain(&dir.path().join("none"), 5).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
