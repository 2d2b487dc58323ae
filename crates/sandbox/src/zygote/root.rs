//! A private root: an empty file system with the interpreter's folders in it, read-only.
//!
//! There is no `/proc`, no `/etc`, no `/home`, and no device but four harmless ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

/// Folders that dynamic linking needs, beside the interpreter's own.
const SYSTEM: [&str; 6] = ["/usr", "/lib", "/lib64", "/lib32", "/libx32", "/bin"];
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// Makes the private root and enters it.
///
/// `scratch` becomes `/tmp`; without one, `/tmp` is an empty folder to mount over. `files` are put
/// beside it.
pub(super) fn enter(
    folders: &[PathBuf],
    scratch: Option<&Path>,
    files: &[(&str, &[u8])],
) -> Result<(), String> {
    let said = |what: &str| {
        let what = what.to_owned();
        move |error: nix::Error| format!("cannot {what}: {error}")
    };
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(said("make mounts private"))?;
    let base = base(folders, scratch)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), &base, Some("tmpfs"), flags, Some("mode=0755,size=1m"))
        .map_err(said("mount an empty root"))?;
    fill(&base, folders, scratch, files)?;
    let read_only = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(None::<&str>, &base, None::<&str>, read_only, None::<&str>)
        .map_err(said("make the root read-only"))?;
    chdir(&base).map_err(said("enter the root"))?;
    pivot_root(".", ".").map_err(said("change the root"))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(said("leave the old root"))?;
    chdir("/").map_err(said("enter the root"))
}

/// A folder to mount the new root on: one that holds nothing we still need.
fn base(folders: &[PathBuf], scratch: Option<&Path>) -> Result<PathBuf, String> {
    let needed = |base: &Path| {
        folders.iter().any(|folder| folder.starts_with(base))
            || scratch.is_some_and(|scratch| scratch.starts_with(base))
    };
    let candidates = ["/tmp", "/mnt", "/media", "/srv", "/opt", "/var", "/home"];
    let free = candidates.iter().map(PathBuf::from).find(|base| base.is_dir() && !needed(base));
    free.ok_or_else(|| format!("none of {} can hold a private root", candidates.join(", ")))
}

fn fill(
    base: &Path,
    folders: &[PathBuf],
    scratch: Option<&Path>,
    files: &[(&str, &[u8])],
) -> Result<(), String> {
    let inside = |path: &Path| base.join(path.strip_prefix("/").unwrap_or(path));
    // Without folders there is no interpreter, and nothing to link it with.
    let system = SYSTEM.iter().filter(|_| !folders.is_empty()).map(PathBuf::from);
    let mut paths: Vec<PathBuf> = system.chain(folders.iter().cloned()).collect();
    paths.sort();
    paths.dedup();
    let mut shown: Vec<PathBuf> = Vec::new();
    for path in paths {
        if shown.iter().any(|earlier| path.starts_with(earlier)) {
            continue;
        }
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                let target = fs::read_link(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
                symlink(target, inside(&path))
                    .map_err(|error| format!("cannot link {}: {error}", path.display()))?;
            }
            Ok(meta) if meta.is_dir() => {
                make_folder(&inside(&path))?;
                bind(&path, &inside(&path), true)?;
                shown.push(path);
            }
            _ => {}
        }
    }
    make_folder(&inside(Path::new("/dev")))?;
    for device in DEVICES.map(Path::new) {
        fs::write(inside(device), b"")
            .map_err(|error| format!("cannot make {}: {error}", device.display()))?;
        bind(device, &inside(device), false)?;
    }
    let tmp = inside(Path::new("/tmp"));
    make_folder(&tmp)?;
    if let Some(scratch) = scratch {
        bind(scratch, &tmp, false)?;
    }
    files.iter().try_for_each(|(path, bytes)| {
        fs::write(inside(Path::new(path)), bytes)
            .map_err(|error| format!("cannot write {path}: {error}"))
    })
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

/// Shows `from` at `to`, with everything that is mounted below it.
fn bind(from: &Path, to: &Path, read_only: bool) -> Result<(), String> {
    let fail = |error: nix::Error| format!("cannot show {}: {error}", from.display());
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(fail)?;
    if read_only && !set_read_only(to) {
        let flags = MsFlags::MS_REMOUNT
            | MsFlags::MS_BIND
            | MsFlags::MS_RDONLY
            | MsFlags::MS_NOSUID
            | MsFlags::MS_NODEV;
        mount(None::<&str>, to, None::<&str>, flags, None::<&str>).map_err(fail)?;
    }
    Ok(())
}

/// With everything below; since Linux 5.12.
fn set_read_only(path: &Path) -> bool {
    crate::os::mount_read_only(path).is_ok()
}
