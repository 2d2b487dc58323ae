//! Packages, and what becomes of an installation that somebody changes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// A package with these files.
fn package(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, text) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..136].copy_from_slice(format!("{:011o}\0", text.len()).as_bytes());
        tar.extend(header);
        tar.extend(text.as_bytes());
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(&tar).expect("a vector takes all");
    zipped.finish().expect("a vector takes all")
}

#[test]
fn phaser_is_taken_out_of_its_package_and_nothing_else_is() {
    let readme = "x".repeat(700);
    let files = [("package/README.md", readme.as_str()), ("package/dist/phaser.min.js", "let a;")];
    assert_eq!(archive::take_phaser(&package(&files)).unwrap(), "let a;");
    assert!(archive::take_phaser(&package(&files[..1])).unwrap_err().contains("phaser.min.js"));
    let whole = package(&files);
    assert!(archive::take_phaser(&whole[..whole.len() / 2]).is_err());
}

#[test]
fn an_unknown_package_is_refused_with_its_digest_and_those_that_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("phaser-9.tgz");
    fs::write(&path, package(&[("package/dist/phaser.min.js", "")])).unwrap();
    let problem = install(&path, folder.path()).unwrap_err().to_string();
    let digest = digest(&fs::read(&path).unwrap());
    for part in [digest.as_str(), "npm pack phaser@3.90.0", Version::V4.digest()] {
        assert!(problem.contains(part), "{problem}");
    }
    assert!(Installation::find(folder.path(), Version::V3).unwrap().is_none());
}

#[test]
fn what_was_installed_is_found_and_what_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let made = install_source("let a = 1;", Version::V3, folder.path()).unwrap();
    let found = || Installation::find(folder.path(), Version::V3);
    assert_eq!(found().unwrap().as_ref(), Some(&made));
    assert!(Installation::find(folder.path(), Version::V4).unwrap().is_none());
    let mut bytes = fs::read(&made.bytecode).unwrap();
    bytes[20] ^= 1;
    fs::write(&made.bytecode, &bytes).unwrap();
    assert!(found().unwrap_err().to_string().contains("install it again"));
    bytes[20] ^= 1;
    fs::write(&made.bytecode, &bytes).unwrap();
    assert!(found().unwrap().is_some());
    let facts = made.bytecode.with_file_name(FACTS);
    let text = fs::read_to_string(&facts).unwrap();
    fs::write(&facts, text.replace("quickjs", "otherjs")).unwrap();
    assert!(found().unwrap_err().to_string().contains("compiled for the engine otherjs"));
    fs::write(&facts, "{").unwrap();
    assert!(found().is_err());
}

#[test]
fn source_that_does_not_compile_is_no_installation() {
    let folder = tempfile::tempdir().unwrap();
    let problem = install_source("let let", Version::V3, folder.path()).unwrap_err();
    assert!(matches!(problem, InstallError::Compile(_)), "{problem}");
    assert!(Installation::find(folder.path(), Version::V3).unwrap().is_none());
}
