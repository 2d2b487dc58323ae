//! The same programs elsewhere: for a user without rights, without user namespaces, under load.
//!
//! The first two need another process: this binary runs itself again, with a variable that says
//! what is wanted of the test `inside`.

#![expect(unsafe_code, reason = "a process changes its namespace between fork and exec")]

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, geteuid, getpid, pipe2, setgroups, setresgid, setresuid};
use whetstone_core::judgement::Isolation;
use whetstone_sandbox::Judge;

use crate::support::{
    Case, Form, alone, every_case, every_short_case, hold_in, judge_binary, options, thorough,
};

pub(crate) const INSIDE: &str = "WHETSTONE_TEST_INSIDE";
/// The user without rights.
const NOBODY: u32 = 65534;

/// Once by default: the families' own tests run everything twice.
fn forms() -> &'static [Form] {
    if thorough() { &[Form::Calls, Form::Asserts] } else { &[Form::Calls] }
}

/// The families that are about what holds a program.
fn on_isolation() -> Vec<Case> {
    use crate::{beyond, escape, honest, signals, users};
    let families =
        [escape::CASES, beyond::CASES, signals::CASES, honest::CASES, users::CASES].concat();
    families.into_iter().filter(Case::is_short).collect()
}

/// What the other process does; nothing in this one.
#[test]
fn inside() {
    match std::env::var(INSIDE).as_deref() {
        Ok("user") => {
            // The folder outside that `landlock` needs is a user's own: everything that is short
            // goes there.
            let (full, landlock) = if thorough() {
                (every_case(), every_case())
            } else {
                (on_isolation(), every_short_case())
            };
            hold_in(Isolation::Full, &full, forms());
            hold_in(Isolation::Landlock, &landlock, forms());
        }
        Ok("user, one program after the other") => {
            for level in [Isolation::Full, Isolation::Landlock] {
                crate::sequences::hold_pairs(level);
            }
            crate::landlock::hold_versions();
        }
        Ok("user, what programs hold") => {
            for level in [Isolation::Full, Isolation::Landlock] {
                crate::costs::holdings::hold_behind(level);
                crate::costs::hold_folders(level);
            }
        }
        Ok("root in a container") => {
            match Judge::start(&options(1)) {
                Ok(judge) => assert_eq!(judge.about().isolation, Isolation::Landlock),
                Err(problem) => println!("SKIPPED: root in a container cannot judge: {problem}"),
            }
            hold_in(Isolation::Landlock, crate::costs::holdings::CASES, forms());
        }
        Ok("few processes") => {
            let few = 300;
            setrlimit(Resource::RLIMIT_NPROC, few, few).unwrap();
            crate::costs::holdings::hold_with_few_processes();
        }
        Ok("table") => crate::table::rows(),
        Ok("no user namespaces") => {
            let judge = Judge::start(&options(1)).unwrap();
            assert_eq!(judge.about().isolation, Isolation::Landlock);
            let why = judge.about().why_not_better.clone().unwrap();
            assert!(why.starts_with("full: "), "{why}");
            assert!(why.contains("a limit in /proc/sys/user is reached"), "{why}");
            drop(judge);
            let cases = if thorough() { every_case() } else { on_isolation() };
            hold_in(Isolation::Landlock, &cases, forms());
        }
        _ => {}
    }
}

/// Runs a part of `inside` as a user without rights; says what it said, if it could be run.
fn without_rights(part: &str) -> Option<String> {
    let _alone = alone();
    if !geteuid().is_root() {
        println!("SKIPPED: these tests run as a user without rights already");
        return None;
    }
    let mut place = Place::open_to(NOBODY)?;
    place.command.env(INSIDE, part).uid(NOBODY).gid(NOBODY);
    Some(place.run(Command::spawn))
}

#[test]
fn a_user_without_rights_can_judge() {
    let Some(said) = without_rights("user") else { return };
    assert!(said.contains("held at Landlock") || said.contains("held at Full"), "{said}");
}

#[test]
fn a_user_without_rights_finds_nothing_of_one_program_in_the_next() {
    let Some(said) = without_rights("user, one program after the other") else { return };
    assert!(said.contains("pairs"), "{said}");
}

#[test]
fn a_user_without_rights_bounds_what_programs_hold() {
    let Some(said) = without_rights("user, what programs hold") else { return };
    assert!(said.contains("while its checker runs"), "{said}");
}

#[test]
fn a_program_that_takes_all_processes_is_judged() {
    let Some(said) = without_rights("few processes") else { return };
    assert!(said.contains("with few processes"), "{said}");
}

/// Root without the rights to mount and to look at processes of others, as containers have it.
#[test]
fn root_in_a_container_bounds_what_programs_hold() {
    const RIGHTS: [libc::c_ulong; 2] = [19, 21]; // CAP_SYS_PTRACE, CAP_SYS_ADMIN
    let _alone = alone();
    if !geteuid().is_root() {
        println!("SKIPPED: only root can give up rights of root");
        return;
    }
    // Its programs are users of their own, who must be able to start the interpreter.
    let Some(mut place) = Place::open_to(NOBODY) else { return };
    place.command.env(INSIDE, "root in a container").env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let give_up = || {
        for right in RIGHTS {
            // SAFETY: numbers alone.
            if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls with numbers.
    let spawn = |command: &mut Command| unsafe { command.pre_exec(give_up) }.spawn();
    let said = place.run(spawn);
    let skipped = said.is_empty() || said.contains("skipped");
    assert!(skipped || said.contains("held at Landlock"), "{said}");
}

/// The rows of the table for a user without rights; nothing where no such process can be made.
pub(crate) fn rows_of_another() {
    let Some(mut place) = Place::open_to(NOBODY) else { return };
    place.command.env(INSIDE, "table").uid(NOBODY).gid(NOBODY);
    place.run(Command::spawn);
}

#[test]
fn without_user_namespaces_landlock_holds() {
    let _alone = alone();
    let users: &[Option<u32>] = if geteuid().is_root() { &[None, Some(NOBODY)] } else { &[None] };
    for user in users {
        let Some(mut place) = Place::open_to(user.unwrap_or(geteuid().as_raw())) else { return };
        place.command.env(INSIDE, "no user namespaces");
        let spawn = |command: &mut Command| spawn_without_user_namespaces(command, *user);
        let said = place.run(spawn);
        if said.is_empty() {
            return;
        }
        assert!(said.contains("held at Landlock"), "as {user:?}: {said}");
    }
}

#[test]
fn a_busy_machine_changes_no_verdict_at_full() {
    hold_under_load(Isolation::Full);
}

#[test]
fn a_busy_machine_changes_no_verdict_at_landlock() {
    hold_under_load(Isolation::Landlock);
}

fn hold_under_load(level: Isolation) {
    if !thorough() {
        println!("SKIPPED: a load of 16 busy processes needs WHETSTONE_FULL=1");
        return;
    }
    let _alone = alone();
    let _load = Load::of(16);
    let mut cases = every_case();
    cases.extend(crate::shared::cases());
    hold_in(level, &cases, &[Form::Calls, Form::Asserts]);
}

/// A folder with copies of the two binaries, for a user who may not read ours.
struct Place {
    command: Command,
    _folder: tempfile::TempDir,
}

impl Place {
    fn open_to(user: u32) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let copy = |from: &Path, name: &str| {
            fs::copy(from, folder.path().join(name)).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755))
                .unwrap();
            folder.path().join(name)
        };
        let tests = copy(&std::env::current_exe().unwrap(), "tests");
        let judge = copy(&judge_binary(), "whet-judge");
        let temporary = folder.path().join("tmp");
        fs::create_dir(&temporary).unwrap();
        fs::set_permissions(&temporary, fs::Permissions::from_mode(0o777)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let Some(python) = python_for(user) else {
            println!("SKIPPED: user {user} can start no Python 3.9 or later here");
            return None;
        };
        let mut command = Command::new(tests);
        command
            .args(["--exact", "elsewhere::inside", "--nocapture"])
            .env("WHETSTONE_TEST_JUDGE", judge)
            .env("WHETSTONE_TEST_PYTHON", python)
            .env("TMPDIR", temporary)
            .current_dir("/")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Some(Self { command, _folder: folder })
    }

    /// What the other process said; nothing if the machine does not let us make it.
    fn run(&mut self, spawn: impl FnOnce(&mut Command) -> io::Result<Child>) -> String {
        let child = match spawn(&mut self.command) {
            Ok(child) => child,
            Err(error) => {
                println!("SKIPPED: no such process can be made here: {error}");
                return String::new();
            }
        };
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let problems = String::from_utf8_lossy(&output.stderr);
        print!("{said}");
        assert!(output.status.success(), "{said}\n{problems}");
        said
    }
}

fn python_for(user: u32) -> Option<&'static str> {
    let works = |python: &&str| {
        let mut command = Command::new(python);
        command.args(["-I", "-S", "-c", "import ctypes, sys; sys.exit(sys.version_info < (3, 9))"]);
        if geteuid().is_root() {
            command.uid(user).gid(user);
        }
        command.current_dir("/").output().is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find(works)
}

/// Starts a process in a user namespace of its own in which no other can be made: with all rights
/// over it, or as `user` with none. Whoever is not root has none anyway.
fn spawn_without_user_namespaces(command: &mut Command, user: Option<u32>) -> io::Result<Child> {
    let maps = if geteuid().is_root() {
        [identity("uid_map")?, identity("gid_map")?]
    } else {
        let (uid, gid) = (geteuid(), nix::unistd::getegid());
        [format!("{uid} {uid} 1"), format!("{gid} {gid} 1")]
    };
    let (ready, tell_ready) = pipe2(OFlag::O_CLOEXEC)?;
    let (go, tell_go) = pipe2(OFlag::O_CLOEXEC)?;
    let privileged = geteuid().is_root();
    // A map of more than oneself has to be written from outside.
    let mapper = std::thread::spawn(move || {
        let mut pid = [0; 4];
        nix::unistd::read(&ready, &mut pid)?;
        let pid = i32::from_ne_bytes(pid);
        if pid == 0 {
            return Ok(());
        }
        let written = write_maps(pid, &maps, privileged);
        // Whoever waits inherited this end of the pipe too, and would not see it close.
        nix::unistd::write(&tell_go, if written.is_ok() { b"g" } else { b"x" })?;
        written
    });
    let change = move || {
        let unshared = unshare(CloneFlags::CLONE_NEWUSER);
        let pid = if unshared.is_ok() { getpid().as_raw() } else { 0 };
        nix::unistd::write(&tell_ready, &pid.to_ne_bytes())?;
        unshared?;
        let mut word = [0];
        nix::unistd::read(&go, &mut word)?;
        if word != *b"g" {
            return Err(io::Error::other("no map of users"));
        }
        let limit = c"/proc/sys/user/max_user_namespaces";
        let limit = open(limit, OFlag::O_WRONLY, Mode::empty())?;
        nix::unistd::write(&limit, b"0")?;
        if let Some(user) = user {
            let (uid, gid) = (Uid::from_raw(user), Gid::from_raw(user));
            setgroups(&[])?;
            setresgid(gid, gid, gid)?;
            setresuid(uid, uid, uid)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls with memory that is there already.
    let child = unsafe { command.pre_exec(change) }.spawn();
    let mapped = mapper.join().map_err(|_| io::Error::other("the mapper broke"))?;
    child.and_then(|child| mapped.map(|()| child))
}

fn write_maps(pid: i32, maps: &[String; 2], privileged: bool) -> io::Result<()> {
    if !privileged {
        fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    }
    fs::write(format!("/proc/{pid}/uid_map"), &maps[0])?;
    fs::write(format!("/proc/{pid}/gid_map"), &maps[1])
}

/// Everyone keeps the number that they have here.
fn identity(file: &str) -> io::Result<String> {
    let text = fs::read_to_string(format!("/proc/self/{file}"))?;
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let (inside, count) = (words.next()?, words.nth(1)?);
        Some(format!("{inside} {inside} {count}\n"))
    };
    Ok(text.lines().filter_map(line).collect())
}

/// Processes that do nothing but compute, until they are dropped.
struct Load(Vec<Child>);

impl Load {
    fn of(count: usize) -> Self {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self(std::iter::repeat_with(busy).take(count).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
