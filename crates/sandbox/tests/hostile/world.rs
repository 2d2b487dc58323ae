//! What lies outside the jail and must not be reached: each thing gives away the solution of the
//! task, so that a program that reaches it would be paid.

use std::fs::Permissions;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use whetstone_sandbox::filter::NAMES;

/// What solves `gap`.
const SOLUTION: &str = "gap = lambda a, b: abs(a - b)";

/// The outside.
pub(crate) struct World {
    /// A folder that everyone may write to, with the solution in it.
    folder: tempfile::TempDir,
    port: u16,
    abstract_name: String,
    visits: Arc<AtomicUsize>,
    /// The folder and what is in it: mode, size, links, and when each was changed.
    before: Vec<(PathBuf, [i64; 7])>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("solution.txt"), SOLUTION).unwrap();
        std::fs::write(folder.path().join("reward.txt"), "0").unwrap();
        allow_all(folder.path());
        allow_all(&folder.path().join("reward.txt"));
        let visits = Arc::new(AtomicUsize::new(0));
        let net = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = net.local_addr().unwrap().port();
        let abstract_name = format!("whet-test-{}-{port}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let local = UnixListener::bind_addr(&address).unwrap();
        let counts = visits.clone();
        thread::spawn(move || {
            for mut visitor in net.incoming().flatten() {
                counts.fetch_add(1, Ordering::SeqCst);
                let _ = visitor.write_all(SOLUTION.as_bytes());
            }
        });
        let counts = visits.clone();
        thread::spawn(move || {
            for mut visitor in local.incoming().flatten() {
                counts.fetch_add(1, Ordering::SeqCst);
                let _ = visitor.write_all(SOLUTION.as_bytes());
            }
        });
        let by_path = UnixDatagram::bind(folder.path().join("letters")).unwrap();
        allow_all(&folder.path().join("letters"));
        let address = SocketAddr::from_abstract_name(format!("{abstract_name}-letters")).unwrap();
        for letters in [by_path, UnixDatagram::bind_addr(&address).unwrap()] {
            let counts = visits.clone();
            thread::spawn(move || {
                while letters.recv(&mut [0; 64]).is_ok() {
                    counts.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let path = folder.path();
        for inner in ["out", "out/inner"] {
            std::fs::create_dir(path.join(inner)).unwrap();
        }
        for (name, mode) in [("secret.txt", 0o600), ("out/scored.jsonl", 0o644), ("whet", 0o755)] {
            std::fs::write(path.join(name), SOLUTION).unwrap();
            std::fs::set_permissions(path.join(name), Permissions::from_mode(mode)).unwrap();
        }
        let before = state(path);
        Self { folder, port, abstract_name, visits, before }
    }

    /// A variable for the judge's own environment.
    pub(crate) fn secret_variable() -> String {
        format!("WHETSTONE_TEST_SECRET={SOLUTION}")
    }

    /// Names in a program's source become what they are in this world.
    pub(crate) fn fill_in(&self, source: &str) -> String {
        let mut source = source.to_owned();
        if source.contains("@NR_") {
            for (name, number) in NAMES {
                source = source.replace(&format!("@NR_{name}@"), &number.to_string());
            }
        }
        source
            .replace("@OUTSIDE@", &self.path().to_string_lossy())
            .replace("@PORT@", &self.port.to_string())
            .replace("@ABSTRACT@", &self.abstract_name)
            .replace("@JUDGE@", &std::process::id().to_string())
    }

    /// Nobody came, and nothing was written.
    pub(crate) fn is_untouched(&self) {
        assert_eq!(self.visits.load(Ordering::SeqCst), 0, "a program came out through a socket");
        let reward = std::fs::read_to_string(self.path().join("reward.txt")).unwrap();
        assert_eq!(reward, "0", "a program wrote its own reward");
        assert_eq!(state(self.path()), self.before, "something outside has changed");
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Everything below a folder, and the folder itself.
fn state(path: &Path) -> Vec<(PathBuf, [i64; 7])> {
    let meta = std::fs::symlink_metadata(path).unwrap();
    let whole = |number: u64| i64::try_from(number).unwrap();
    let numbers = [
        i64::from(meta.mode()),
        whole(meta.size()),
        whole(meta.nlink()),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ];
    let mut found = vec![(path.to_owned(), numbers)];
    if meta.is_dir() {
        let entries = std::fs::read_dir(path).unwrap().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        found.extend(paths.iter().flat_map(|path| state(path)));
    }
    found
}

fn allow_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
