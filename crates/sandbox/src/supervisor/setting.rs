//! The isolation of programs on this machine, found by trying it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{getegid, geteuid};
use whetstone_core::judgement::Isolation;

use super::hard_limits::HardLimits;
use crate::filter::{PROGRAM, Root, Stages, SyscallRules, TOOLS};
use crate::jail::order::{Instruction, PATH_MAX, Terms};
use crate::os;
use crate::phaser::Installation;
use crate::protocol::Start;
use crate::zygote::folders::{PROGRAM_FOLDER, SCRATCH, SLOT_FOLDER};
use crate::zygote::interpreter::Interpreter;
use crate::zygote::launch::{RootKind, ZygoteKind, ZygoteOptions, landlock_rights};
use crate::zygote::shown;

/// The users that programs run as when we are root, one for each slot: the first, and how many. A judge
/// begins at one of them by chance, so that a program cannot tell by its user which slot it is in.
const FIRST_USER: u32 = 200_000;
const USERS: u32 = 65_536;

/// Everything that is the same for all programs.
#[derive(Debug, Clone)]
pub(crate) struct SupervisorSettings {
    pub(crate) command: Vec<String>,
    pub(crate) interpreter: Interpreter,
    pub(crate) isolation: Isolation,
    pub(crate) root: RootKind,
    pub(crate) landlock: u32,
    /// Use control groups where we may.
    pub(crate) groups: bool,
    /// The parent of program folders, for programs that cannot mount their own.
    pub(crate) scratch: PathBuf,
    /// The offset of the first slot's user.
    pub(crate) user_offset: u32,
    /// The value of `PYTHONHASHSEED`.
    pub(crate) hash_seed: u32,
    /// The Phaser for programs that use it.
    pub(crate) phaser: Option<Installation>,
    /// What programs' limits must keep to.
    pub(crate) hard_limits: HardLimits,
}

/// The number of the slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotId {
    pub(crate) number: u32,
    /// A part of the name of its folder that no other program can guess: without a private root, the names
    /// that it could guess it could also read links of.
    secret: u64,
}

impl SlotId {
    pub(crate) fn new(number: u32) -> Self {
        Self { number, secret: random() }
    }
}

/// A number from the system's own random source.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What a checker signs its verdict with. Test code may be led by an answer to write to any descriptor, but not
/// what it cannot know.
pub(crate) fn token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// The ways to hold a program, best first; each is tried until one works.
pub(crate) fn ways(start: &Start) -> Vec<(Isolation, RootKind)> {
    let root = own_users();
    let full = if root { RootKind::Privileged } else { RootKind::UserNamespace };
    let mut ways = vec![(Isolation::Full, full)];
    for isolation in [Isolation::Landlock, Isolation::Rlimit] {
        if root {
            ways.push((isolation, RootKind::Privileged));
        }
        ways.push((isolation, RootKind::None));
    }
    ways.retain(|(isolation, _)| *isolation <= start.ceiling);
    ways
}

impl SupervisorSettings {
    /// Whether the kernel can count a program's threads: not if it would count them with all of its
    /// user's, which are its checker's too.
    pub(crate) fn counts_threads(&self) -> bool {
        self.isolation == Isolation::Full
    }

    /// Processes and threads that all programs may have together: those of our user, where they run as it, and
    /// those of the container.
    pub(crate) fn processes_max() -> u64 {
        const CONTAINER: [&str; 2] = ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"];
        let of_user = (!own_users()).then(|| getrlimit(Resource::RLIMIT_NPROC).ok()).flatten();
        let read = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse().ok();
        let of_container = CONTAINER.into_iter().filter_map(read);
        of_user.map(|(soft, _)| soft).into_iter().chain(of_container).min().unwrap_or(u64::MAX)
    }

    /// The folder outside that a slot's programs have theirs in, if they need one.
    pub(crate) fn scratch(&self, slot: SlotId) -> Option<PathBuf> {
        (self.isolation != Isolation::Full)
            .then(|| self.scratch.join(format!("whet-{}-{:016x}", std::process::id(), slot.secret)))
    }

    /// The path, inside the sandbox, of the folder that a slot's programs may write to.
    pub(crate) fn inside(&self, slot: SlotId) -> PathBuf {
        match (self.root, self.scratch(slot)) {
            (_, None) => PathBuf::from(SCRATCH),
            (RootKind::None, Some(path)) => path.join(PROGRAM_FOLDER),
            (_, Some(_)) => Path::new(SLOT_FOLDER).join(PROGRAM_FOLDER),
        }
    }

    /// The user of a slot's programs, outside; `None` if it is our own.
    pub(crate) fn user(&self, slot: SlotId) -> Option<u32> {
        own_users().then(|| FIRST_USER + self.user_offset.wrapping_add(slot.number) % USERS)
    }

    /// The options of a slot's zygote.
    pub(crate) fn wanted(&self, slot: SlotId, kind: ZygoteKind) -> ZygoteOptions {
        let shown = match kind {
            ZygoteKind::Python => shown(&self.interpreter),
            ZygoteKind::Javascript | ZygoteKind::Phaser => Vec::new(),
        };
        let phaser = if kind == ZygoteKind::Phaser { self.phaser.clone() } else { None };
        let landlock = if self.isolation == Isolation::Rlimit { 0 } else { self.landlock };
        ZygoteOptions {
            kind,
            phaser,
            interpreter: self.interpreter.path.clone(),
            shown,
            landlock,
            root: self.root,
            user: self.user(slot),
            scratch: self.scratch(slot),
            hash_seed: self.hash_seed,
        }
    }

    /// The terms under which a slot's children are jailed.
    pub(crate) fn terms(&self, slot: SlotId) -> Result<Box<Terms>, String> {
        let mut terms = Box::new(Terms::empty());
        terms.level = match self.isolation {
            Isolation::Rlimit => 0,
            Isolation::Landlock => 1,
            Isolation::Full => 2,
        };
        if self.isolation != Isolation::Rlimit {
            let rights = landlock_rights(self.landlock);
            terms.landlock_scopes = rights.scopes;
            // Without a private root the zygote has shut the rest for all its children.
            if self.root != RootKind::None {
                (terms.landlock_files, terms.landlock_net) = (rights.files, rights.net);
            }
        }
        terms.uid = self.user(slot).unwrap_or_else(|| geteuid().as_raw());
        terms.gid = self.user(slot).unwrap_or_else(|| getegid().as_raw());
        // What a program has unlinked is counted by its open files, which its own user alone may see.
        terms.shows_files = u32::from(self.isolation == Isolation::Landlock);
        set_path(&mut terms.scratch, &self.inside(slot).to_string_lossy())?;
        let read = |list| {
            SyscallRules::parse(list).map_err(|error| format!("a system call filter: {error}"))
        };
        let root = if self.root == RootKind::None { Root::Shared } else { Root::Private };
        let stages = Stages::new(&read(PROGRAM)?.under(root), &read(TOOLS)?);
        terms.filter_length = copy(&stages.zygote.instructions, &mut terms.filter);
        terms.child_filter_length = copy(&stages.child.instructions, &mut terms.child_filter);
        for (place, at) in terms.own_pid_at.iter_mut().zip(&stages.child.own_pid_at) {
            *place = *at;
        }
        Ok(terms)
    }
}

/// Whether programs run as users of their own: we are root, and those users exist. In a container
/// that maps few users they may not, and root there is an ordinary user outside.
fn own_users() -> bool {
    geteuid().is_root() && {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        map.lines().any(|line| covers(line, FIRST_USER, FIRST_USER + USERS))
    }
}

/// Whether a line of a user map (`inside outside count`) has all users from `first` to `last`.
fn covers(line: &str, first: u32, last: u32) -> bool {
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [inside, _, count] = numbers.as_slice() else { return false };
    *inside <= u64::from(first) && u64::from(last) < inside + count
}

/// Copies a filter to its place, where the compiler has seen to it that there is room; its length.
fn copy(instructions: &[Instruction], place: &mut [Instruction]) -> u32 {
    place[..instructions.len()].copy_from_slice(instructions);
    u32::try_from(instructions.len()).unwrap_or(0)
}

fn set_path(place: &mut [u8; PATH_MAX], path: &str) -> Result<(), String> {
    let bytes = path.as_bytes();
    if bytes.len() >= PATH_MAX || bytes.contains(&0) {
        return Err(format!("the path `{path}` is too long: at most {} bytes", PATH_MAX - 1));
    }
    place.fill(0);
    place[..bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// The first version of Landlock that guards the length of files: before it a program could cut off
/// every file of its user.
pub(crate) const LANDLOCK_MIN: u32 = 3;

/// Landlock's version, at most what was asked for.
pub(crate) fn landlock_version(start: &Start) -> u32 {
    os::landlock_version().min(start.landlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_few_users_has_none_for_programs() {
        assert!(covers("         0          0 4294967295", FIRST_USER, FIRST_USER + USERS));
        assert!(!covers("         0       1000          1", FIRST_USER, FIRST_USER + USERS));
        assert!(!covers("0 100000 65536", FIRST_USER, FIRST_USER + USERS));
        assert!(!covers("", FIRST_USER, FIRST_USER + USERS));
    }
}
