//! One file out of an archive of a package: a gzipped tar.

use std::io::Read;

use flate2::read::GzDecoder;

/// The file that is taken.
const WANTED: &str = "package/dist/phaser.min.js";
/// Bytes of it, at most.
const FILE_MAX: u64 = 8 << 20;
/// Bytes of the whole archive, unpacked, at most.
const UNPACKED_MAX: u64 = 512 << 20;
const BLOCK: usize = 512;

/// The text of Phaser itself.
pub(super) fn take_phaser(archive: &[u8]) -> Result<String, String> {
    let mut unpacked = GzDecoder::new(archive).take(UNPACKED_MAX);
    loop {
        let mut header = [0; BLOCK];
        unpacked.read_exact(&mut header).map_err(|_| format!("there is no {WANTED} in it"))?;
        let size = size(&header).ok_or("an entry has no size")?;
        if name(&header) == WANTED.as_bytes() {
            return text(&mut unpacked, size);
        }
        let padded = size.div_ceil(BLOCK as u64) * BLOCK as u64;
        let skipped = std::io::copy(&mut (&mut unpacked).take(padded), &mut std::io::sink());
        if skipped.map_err(|error| error.to_string())? != padded {
            return Err("it ends in the middle of an entry".to_owned());
        }
    }
}

fn text(from: &mut impl Read, size: u64) -> Result<String, String> {
    if size > FILE_MAX {
        return Err(format!("{WANTED} is larger than {FILE_MAX} bytes"));
    }
    let mut text = String::new();
    let read = from.take(size).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if read as u64 == size { Ok(text) } else { Err(format!("{WANTED} is cut off")) }
}

/// The name of an entry: all of it is in the first field, as names here are short.
fn name(header: &[u8; BLOCK]) -> &[u8] {
    header[..100].split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The size of an entry, in octal digits.
fn size(header: &[u8; BLOCK]) -> Option<u64> {
    let field = std::str::from_utf8(&header[124..136]).ok()?;
    let digits = field.trim_matches(['\0', ' ']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}
