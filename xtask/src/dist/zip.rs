//! A zip archive with fixed times, deflated: PKWARE's APPNOTE 6.3.3, sections 4.3.7 and 4.3.12.
//!
//! Files of less than 4 GiB and fewer than 65,536 of them: no zip64.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::entry::Entry;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// 2.0, the first version with deflate; in the upper byte of the maker 3, which is Unix.
const VERSION: u16 = 20;
const UNIX: u16 = 3 << 8;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// 1980-01-01 00:00, as the format counts.
const TIME: u16 = 0;
const DATE: u16 = 1 << 5 | 1;

/// The archive, with its entries in the order given.
pub(super) fn pack(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = short(archive.len())?;
        let deflated = deflate(&entry.bytes)?;
        let shared = shared_fields(entry, &deflated)?;
        archive.extend(LOCAL.to_le_bytes());
        archive.extend(&shared);
        archive.extend(entry.name.as_bytes());
        archive.extend(deflated);
        directory.extend(CENTRAL.to_le_bytes());
        directory.extend((UNIX | VERSION).to_le_bytes());
        directory.extend(shared);
        // No comment, disk 0, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | entry.mode()) << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.name.as_bytes());
    }
    let (offset, size) = (short(archive.len())?, short(directory.len())?);
    let count = u16::try_from(entries.len()).map_err(io::Error::other)?;
    archive.extend(directory);
    archive.extend(END.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    archive.extend([0; 2]);
    Ok(archive)
}

/// The fields that the header of a file and its row in the directory have in common.
fn shared_fields(entry: &Entry, deflated: &[u8]) -> io::Result<Vec<u8>> {
    let mut crc = Crc::new();
    crc.update(&entry.bytes);
    let numbers = [VERSION, FLAGS, DEFLATED, TIME, DATE];
    let mut fields: Vec<u8> = numbers.into_iter().flat_map(u16::to_le_bytes).collect();
    for number in [crc.sum(), short(deflated.len())?, short(entry.bytes.len())?] {
        fields.extend(number.to_le_bytes());
    }
    let name = u16::try_from(entry.name.len()).map_err(io::Error::other)?;
    fields.extend(name.to_le_bytes());
    fields.extend([0; 2]);
    Ok(fields)
}

fn deflate(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn short(number: usize) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| io::Error::other("a zip without zip64 ends at 4 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn python_reads_names_contents_permissions_and_times() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.zip");
        let entries = [
            Entry::program("a/whet", vec![7; 5000]),
            Entry::text("a/METADATA", "Name: é\n".to_owned()),
        ];
        fs::write(&path, pack(&entries).unwrap()).unwrap();
        let script = "import sys, zipfile\n\
                      z = zipfile.ZipFile(sys.argv[1])\n\
                      assert z.testzip() is None\n\
                      for i in z.infolist():\n    \
                      print(i.filename, oct(i.external_attr >> 16), len(z.read(i)), i.date_time, i.file_size > i.compress_size)\n\
                      print(z.read('a/METADATA').decode().encode('unicode_escape'))";
        let output = Command::new("python3").args(["-c", script]).arg(&path).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "a/whet 0o100755 5000 (1980, 1, 1, 0, 0, 0) True\n\
             a/METADATA 0o100644 9 (1980, 1, 1, 0, 0, 0) False\n\
             b'Name: \\\\xe9\\\\n'\n",
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
