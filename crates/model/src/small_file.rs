//! Files that are opened whole, and small ones read whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file. Anything else is refused before it is opened: a pipe would block.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// A file of text, which must not be larger than `limit_bytes`.
pub(crate) fn read_text(path: &Path, limit_bytes: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, limit_bytes)?);
    text.map_err(|err| io::Error::new(io::ErrorKind::InvalidData, err.utf8_error()))
}

/// A file, which must not be larger than `limit_bytes`.
pub(crate) fn read(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes {
        let problem = format!("larger than the {limit_bytes} bytes that are allowed");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// A file of a model's folder. A link is followed within the folder, and to the files of a hub's cache that it was made
/// for: what somebody else packed may not have another file copied.
pub(crate) fn read_of_folder(folder: &Path, name: &str, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let path = folder.join(name);
    let target = path.canonicalize()?;
    let folder = folder.canonicalize()?;
    let of_cache = folder.parent().filter(|parent| parent.ends_with("snapshots"));
    let blobs = of_cache.and_then(Path::parent).map(|model| model.join("blobs"));
    if !target.starts_with(&folder) && !blobs.is_some_and(|blobs| target.starts_with(blobs)) {
        let problem = format!("it is a link to `{}`, outside of its folder", target.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    read(&target, limit_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_at_the_limit_is_read_and_one_byte_more_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(file.path(), 8).unwrap(), "12345678");
        assert_eq!(read_text(file.path(), 7).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_link_is_followed_within_its_folder_and_to_the_blobs_of_a_cache() {
        let dir = tempfile::tempdir().unwrap();
        let [folder, blobs] = ["hub/snapshots/1", "hub/blobs"].map(|name| dir.path().join(name));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&blobs).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(blobs.join("b"), "b").unwrap();
        fs::write(folder.join("plain"), "p").unwrap();
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        link("../../blobs/b", "cached");
        link("plain", "within");
        link("../../../secret", "out");
        link("/dev/zero", "endless");
        let read = |name: &str| read_of_folder(&folder, name, 8).map_err(|err| err.kind());
        assert_eq!(
            [read("plain"), read("cached"), read("within")],
            ["p", "b", "p"].map(|text| Ok(text.into()))
        );
        assert_eq!(read("out"), Err(io::ErrorKind::InvalidInput));
        assert_eq!(read("endless"), Err(io::ErrorKind::InvalidInput));
        assert_eq!(read("none"), Err(io::ErrorKind::NotFound));
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let err = open("/dev/null".as_ref()).unwrap_err();
        assert_eq!(err.to_string(), "it is not a regular file");
        assert_eq!(open("nowhere".as_ref()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
