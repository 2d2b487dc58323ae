//! A bare system in a folder, and commands that run in it as in a container.
//!
//! A command gets mounts, processes, IPC and a host name of its own, `/proc`, `/sys` read-only, and a small
//! `/dev`. Its root is changed with `pivot_root(2)` and not with `chroot(2)`: the kernel gives no user namespace
//! to a process under `chroot`, and the judge would find less isolation than in a container.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::finish;
use super::host::Host;
use super::measure::{Row, Start};

/// The folder of the user inside, without the first `/`.
pub(super) const HOME: &str = "root";

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Mounts what a container has and changes the root. The first argument is the folder, the others are the
/// command. Everything it mounts is gone with its mount namespace.
const ENTER: &str = r#"
set -e
root=$1
shift
hostname bare
mount --bind "$root" "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t cgroup2 -o ro,nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup" 2>/dev/null || :
mount -t tmpfs -o nosuid,mode=755,size=64k tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o nosuid,noexec,newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o nosuid,nodev,size=64m tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
cd "$root"
pivot_root . mnt
umount -l /mnt
cd "$BARE_FOLDER"
unset BARE_FOLDER
exec "$@"
"#;

/// How a system is made.
pub(super) struct Recipe<'a> {
    /// Where; what is there is removed.
    pub(super) folder: &'a Path,
    /// Packages beside the minimum.
    pub(super) packages: &'a [&'a str],
}

/// A system in a folder.
#[derive(Debug)]
pub(super) struct System {
    root: PathBuf,
    environment: Vec<(String, String)>,
    path: String,
    /// The folder inside that commands start in.
    pub(super) working_folder: String,
}

impl System {
    /// Makes a system from nothing, and says what that took.
    pub(super) fn make(host: &Host, recipe: &Recipe) -> Result<(Row, Self), String> {
        let start = Start::now();
        remove(recipe.folder)?;
        if let Some(parent) = recipe.folder.parent() {
            fs::create_dir_all(parent).map_err(|err| format!("{}: {err}", parent.display()))?;
        }
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.arg("--variant=minbase");
        if !recipe.packages.is_empty() {
            debootstrap.arg(format!("--include={}", recipe.packages.join(",")));
        }
        finish(debootstrap.arg(&host.suite).arg(recipe.folder).arg(&host.mirror))?;
        let root = recipe.folder.canonicalize();
        let system = Self {
            root: root.map_err(|err| format!("{}: {err}", recipe.folder.display()))?,
            environment: host.environment.clone(),
            path: PATH.to_owned(),
            working_folder: "/srv".to_owned(),
        };
        system.take_over(host)?;
        let what = format!("debootstrap {}", recipe.packages.join(","));
        Ok((start.end(what.trim_end(), &system.root), system))
    }

    fn take_over(&self, host: &Host) -> Result<(), String> {
        for file in &host.files {
            self.copy(file, &file.to_string_lossy())?;
        }
        let apt = self.inside("/etc/apt/apt.conf.d/90host");
        fs::write(&apt, &host.apt).map_err(|err| format!("{}: {err}", apt.display()))
    }

    /// A path inside, as the host sees it.
    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Copies a file or a folder of the host to a path inside. Links are followed: a file is what it contains.
    pub(super) fn copy(&self, from: &Path, to: &str) -> Result<(), String> {
        let target = self.inside(to);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|err| format!("{}: {err}", parent.display()))?;
        }
        let flags = ["--recursive", "--dereference", "--preserve=mode", "--remove-destination"];
        finish(Command::new("cp").args(flags).arg("--no-target-directory").arg(from).arg(target))
    }

    /// Puts a folder inside in front of the others in which programs are looked for.
    pub(super) fn put_on_path(&mut self, folder: &str) {
        self.path = format!("{folder}:{}", self.path);
    }

    /// Runs a command to its end, and says what it took.
    pub(super) fn run(&self, words: &[&str]) -> Result<Row, String> {
        let shown = words.join(" ");
        let start = Start::now();
        let status = self.command(words).status();
        let status = status.map_err(|err| format!("cannot start `unshare`: {err}"))?;
        if !status.success() {
            let root = self.root.display();
            return Err(format!("`{shown}` ended with {status}; the system is left in {root}"));
        }
        Ok(start.end(&shown, &self.root))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]);
        command.args(["sh", "-c", ENTER, "sh"]).arg(&self.root).args(words);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("PATH", &self.path).env("HOME", format!("/{HOME}")).env("LANG", "C.UTF-8");
        command.env("BARE_FOLDER", &self.working_folder);
        command
    }

    /// Removes the system.
    pub(super) fn remove(self) -> Result<(), String> {
        remove(&self.root)
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {err}", folder.display()))
        }
        _ => Ok(()),
    }
}
