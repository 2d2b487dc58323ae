//! A private root: an empty file system with what the interpreter loads in it, read-only.
//!
//! There is no `/proc`, no `/etc`, no `/home`, no package that was installed, and no device but four
//! harmless ones, whose modes and times cannot change.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::folders::{PROGRAM_FOLDER, SCRATCH, SLOT_FOLDER};
use super::shown::packages;
use crate::os::{self, Shows};

/// Names at the root that may be links into `/usr`, by which the dynamic linker is found.
const LINKS: [&str; 4] = ["/lib", "/lib64", "/lib32", "/libx32"];
const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// Makes the private root and enters it.
///
/// `shown` are files and folders, none below another; folders of packages in them are covered.
/// With `scratch`, `/tmp` is a link to the program's folder in it; without one, an empty folder to mount
/// over. `files` are put beside it.
pub(super) fn enter(
    shown: &[PathBuf],
    scratch: Option<&Path>,
    files: &[(&str, &[u8])],
) -> Result<(), String> {
    let said = |what: &str| {
        let what = what.to_owned();
        move |error: nix::Error| format!("cannot {what}: {error}")
    };
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(said("make mounts private"))?;
    let base = base(shown, scratch)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), &base, Some("tmpfs"), flags, Some("mode=0755,size=1m"))
        .map_err(said("mount an empty root"))?;
    fill(&base, shown, scratch, files)?;
    let read_only = flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(None::<&str>, &base, None::<&str>, read_only, None::<&str>)
        .map_err(said("make the root read-only"))?;
    chdir(&base).map_err(said("enter the root"))?;
    pivot_root(".", ".").map_err(said("change the root"))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(said("leave the old root"))?;
    chdir("/").map_err(said("enter the root"))
}

/// A folder to mount the new root on: one that holds nothing we still need.
fn base(shown: &[PathBuf], scratch: Option<&Path>) -> Result<PathBuf, String> {
    let needed = |base: &Path| {
        shown.iter().any(|path| path.starts_with(base))
            || scratch.is_some_and(|scratch| scratch.starts_with(base))
    };
    let candidates = ["/tmp", "/mnt", "/media", "/srv", "/opt", "/var", "/home"];
    let free = candidates.iter().map(PathBuf::from).find(|base| base.is_dir() && !needed(base));
    free.ok_or_else(|| format!("none of {} can hold a private root", candidates.join(", ")))
}

/// A path of the outside in the root at `base`.
fn path_inside(base: &Path, path: &Path) -> PathBuf {
    base.join(path.strip_prefix("/").unwrap_or(path))
}

/// Shows one path of the outside in the root at `base`.
fn show(base: &Path, path: &Path) -> Result<(), String> {
    let place = path_inside(base, path);
    if path.is_symlink() {
        make_folder(place.parent().unwrap_or(base))?;
        make_link(path, &place)
    } else if path.is_dir() {
        make_folder(&place)?;
        bind(path, &place, Some(Shows::Files))?;
        packages(path).iter().try_for_each(|hidden| cover(&path_inside(base, hidden)))
    } else {
        make_folder(place.parent().unwrap_or(base))?;
        make_file(&place)?;
        bind(path, &place, Some(Shows::Files))
    }
}

fn fill(
    base: &Path,
    shown: &[PathBuf],
    scratch: Option<&Path>,
    files: &[(&str, &[u8])],
) -> Result<(), String> {
    let inside = |path: &Path| path_inside(base, path);
    // Where nothing is shown there is no interpreter, and nothing to link it with.
    let links = LINKS.iter().filter(|_| !shown.is_empty()).map(Path::new);
    for link in links.filter(|link| link.is_symlink()) {
        make_link(link, &inside(link))?;
    }
    shown.iter().try_for_each(|path| show(base, path))?;
    make_folder(&inside(Path::new("/dev")))?;
    for device in DEVICES.map(Path::new) {
        make_file(&inside(device))?;
        bind(device, &inside(device), Some(Shows::Device))?;
    }
    let tmp = inside(Path::new(SCRATCH));
    match scratch {
        None => make_folder(&tmp)?,
        Some(scratch) => {
            let slot = inside(Path::new(SLOT_FOLDER));
            make_folder(&slot)?;
            bind(scratch, &slot, None)?;
            let program = Path::new(SLOT_FOLDER).join(PROGRAM_FOLDER);
            symlink(program, &tmp).map_err(|error| format!("cannot link {SCRATCH}: {error}"))?;
        }
    }
    files.iter().try_for_each(|(path, bytes)| {
        fs::write(inside(Path::new(path)), bytes)
            .map_err(|error| format!("cannot write {path}: {error}"))
    })
}

fn make_folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn make_file(path: &Path) -> Result<(), String> {
    fs::write(path, b"").map_err(|error| format!("cannot make {}: {error}", path.display()))
}

fn make_link(from: &Path, to: &Path) -> Result<(), String> {
    let target =
        fs::read_link(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    symlink(target, to).map_err(|error| format!("cannot link {}: {error}", from.display()))
}

/// Puts an empty folder over one that is not to be seen.
fn cover(place: &Path) -> Result<(), String> {
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), place, Some("tmpfs"), flags, Some("mode=0555,size=4k,nr_inodes=2"))
        .map_err(|error| format!("cannot cover {}: {error}", place.display()))
}

/// Shows `from` at `to`, with everything that is mounted below it; read-only as said.
fn bind(from: &Path, to: &Path, read_only: Option<Shows>) -> Result<(), String> {
    let fail = |error: nix::Error| format!("cannot show {}: {error}", from.display());
    mount(Some(from), to, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(fail)?;
    let Some(shows) = read_only else { return Ok(()) };
    // With everything below; since Linux 5.12.
    if os::mount_read_only(to, shows).is_err() {
        let kind = match shows {
            Shows::Files => MsFlags::MS_NODEV,
            Shows::Device => MsFlags::MS_NOEXEC,
        };
        let flags =
            MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | kind;
        mount(None::<&str>, to, None::<&str>, flags, None::<&str>).map_err(fail)?;
    }
    Ok(())
}
