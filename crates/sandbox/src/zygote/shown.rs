//! What a Python program sees of the machine's files: its interpreter, the standard library, and the
//! folders of shared objects. Nothing that was installed beside them.

use std::fs;
use std::path::{Path, PathBuf};

use super::interpreter::Interpreter;

/// Folders in which the dynamic linker itself is looked for, and the time zones.
const SYSTEM: [&str; 7] = [
    "/lib64",
    "/usr/lib64",
    "/lib32",
    "/usr/lib32",
    "/libx32",
    "/usr/libx32",
    "/usr/share/zoneinfo",
];

/// The folders of installed packages.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];

/// Files and folders, none of them below another.
pub(crate) fn shown(interpreter: &Interpreter) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from).filter(|path| !path.is_symlink());
    let mut paths: Vec<PathBuf> = system
        .chain(interpreter.folders.iter().cloned())
        .chain(interpreter.libraries.iter().cloned())
        .chain([interpreter.path.clone()])
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    let mut shown: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !shown.iter().any(|earlier| path.starts_with(earlier)) {
            shown.push(path);
        }
    }
    shown
}

/// The folders of packages in a folder that is shown, and in those directly in it.
pub(super) fn packages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for inner in [folder.to_owned()].into_iter().chain(folders_in(folder)) {
        let there = PACKAGES.iter().map(|name| inner.join(name));
        found.extend(there.filter(|path| path.is_dir() && !path.is_symlink()));
    }
    found
}

/// What may be read of a folder so that none of its packages are, and the folders on the way, which
/// may be listed.
pub(super) fn without_packages(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let hidden = packages(folder);
    if hidden.is_empty() {
        return (vec![folder.to_owned()], Vec::new());
    }
    let (mut read, mut listed) = (Vec::new(), vec![folder.to_owned()]);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if hidden.contains(&path) {
            continue;
        }
        if hidden.iter().any(|one| one.starts_with(&path)) {
            let (inner, on_the_way) = without_packages(&path);
            read.extend(inner);
            listed.extend(on_the_way);
        } else {
            read.push(path);
        }
    }
    (read, listed)
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_beside_the_library_and_below_it_and_left_out() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("lib");
        for folder in ["python3/dist-packages/answers", "python3/other", "site-packages", "json"] {
            fs::create_dir_all(library.join(folder)).unwrap();
        }
        fs::write(library.join("os.py"), "").unwrap();
        let mut found = packages(&library);
        found.sort();
        let expected = ["python3/dist-packages", "site-packages"].map(|name| library.join(name));
        assert_eq!(found, expected);
        let (mut read, listed) = without_packages(&library);
        read.sort();
        let expected = ["json", "os.py", "python3/other"].map(|name| library.join(name));
        assert_eq!(read, expected);
        assert_eq!(listed, [library.clone(), library.join("python3")]);
        let plain = library.join("json");
        assert_eq!(without_packages(&plain), (vec![plain], Vec::new()));
    }
}
