//! A gzipped tar archive with fixed times and owners, in the format `ustar` of POSIX.1-1988.
//!
//! Names of up to 100 bytes and files of up to 8 GiB, which is all that a release has.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};

use super::entry::{Entry, TIME, sorted};

const BLOCK: usize = 512;

/// The archive: every entry below `folder`, by name.
pub(super) fn pack(folder: &str, entries: &[Entry]) -> io::Result<Vec<u8>> {
    // Neither the name nor the time of the tar file is part of the archive.
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    for entry in sorted(entries) {
        packed.write_all(&header(&format!("{folder}/{}", entry.name), entry)?)?;
        packed.write_all(&entry.bytes)?;
        packed
            .write_all(&vec![0; entry.bytes.len().next_multiple_of(BLOCK) - entry.bytes.len()])?;
    }
    packed.write_all(&[0; 2 * BLOCK])?;
    packed.finish()
}

fn header(name: &str, entry: &Entry) -> io::Result<[u8; BLOCK]> {
    let size = entry.bytes.len();
    if name.len() > 100 || size >= 1 << 33 {
        return Err(io::Error::other(format!("{name} is too long a name or a file")));
    }
    let mut header = [0; BLOCK];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{:07o}", entry.mode()));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{TIME:011o}"));
    // The checksum counts itself as spaces.
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\u{0}00");
    put(265, "root");
    put(297, "root");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn entries() -> Vec<Entry> {
        vec![
            Entry::program("whet", vec![7; 513]),
            Entry::text("LICENSE", "MIT".to_owned()),
            Entry::file("empty", Vec::new()),
        ]
    }

    #[test]
    fn tar_unpacks_contents_and_permissions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar.gz");
        fs::write(&path, pack("whet-1", &entries()).unwrap()).unwrap();
        let listed = Command::new("tar").arg("-tvzf").arg(&path).env("TZ", "UTC").output().unwrap();
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).unwrap();
        let lines: Vec<Vec<&str>> =
            listed.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines,
            [
                ["-rw-r--r--", "root/root", "3", "1980-01-01", "00:00", "whet-1/LICENSE"],
                ["-rw-r--r--", "root/root", "0", "1980-01-01", "00:00", "whet-1/empty"],
                ["-rwxr-xr-x", "root/root", "513", "1980-01-01", "00:00", "whet-1/whet"],
            ]
        );
        let unpacked =
            Command::new("tar").arg("-xzf").arg(&path).arg("-C").arg(dir.path()).status();
        assert!(unpacked.unwrap().success());
        assert_eq!(fs::read(dir.path().join("whet-1/whet")).unwrap(), vec![7; 513]);
        assert_eq!(fs::read_to_string(dir.path().join("whet-1/LICENSE")).unwrap(), "MIT");
    }

    #[test]
    fn the_order_in_which_files_are_given_does_not_change_a_byte() {
        let mut reversed = entries();
        reversed.reverse();
        assert_eq!(pack("a", &entries()).unwrap(), pack("a", &reversed).unwrap());
    }

    #[test]
    fn a_name_that_the_format_cannot_hold_is_refused() {
        let error = pack(&"a".repeat(100), &entries()).unwrap_err();
        assert!(error.to_string().contains("too long a name"), "{error}");
    }
}
