//! The host: whether a system can be made on it, and what a system takes over from it.
//!
//! Taken over are the package mirror, the proxies, the certificates and the configuration of cargo. They are read
//! from where Debian, cargo and the environment keep them, so that this works behind any mirror.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that are called, and the package of each.
const PROGRAMS: [(&str, &str); 6] = [
    ("debootstrap", "debootstrap"),
    ("unshare", "util-linux"),
    ("pivot_root", "util-linux"),
    ("mount", "mount"),
    ("git", "git"),
    ("rustc", "the Rust toolchain"),
];

/// Beginnings and ends of the names of variables that say how the network is reached.
const STARTS: [&str; 5] =
    ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_", "CARGO_SOURCE_", "SSL_CERT_"];
const ENDS: [&str; 4] = ["_proxy", "_PROXY", "_CAINFO", "_CA_BUNDLE"];
/// Secrets stay outside.
const SECRETS: [&str; 3] = ["TOKEN", "PASSWORD", "SECRET"];

/// What a system takes over.
#[derive(Debug)]
pub(super) struct Host {
    /// The name of the distribution's release, e.g. `bookworm`.
    pub(super) suite: String,
    /// Where its packages are.
    pub(super) mirror: String,
    /// Variables that say how the network is reached.
    pub(super) environment: Vec<(String, String)>,
    /// Files that are the same inside: certificates, name servers.
    pub(super) files: Vec<PathBuf>,
    /// Proxies of apt, in the form of its configuration.
    pub(super) apt: String,
    /// Cargo's configuration, if there is any.
    pub(super) cargo_config: Option<PathBuf>,
}

impl Host {
    /// Reads the host, or says what keeps a system from being made on it.
    pub(super) fn read() -> Result<Self, String> {
        check()?;
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let suite =
            suite.ok_or("/etc/os-release has no VERSION_CODENAME: this is not Debian or Ubuntu")?;
        let mirror = mirror(&sources(), suite)
            .ok_or_else(|| format!("/etc/apt has no source of packages for {suite}"))?;
        let environment: Vec<(String, String)> =
            env::vars().filter(|(name, _)| is_taken(name)).collect();
        let named = environment.iter().map(|(_, value)| PathBuf::from(value));
        let usual = ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"];
        let files =
            named.chain(usual.map(PathBuf::from)).filter(|p| p.is_absolute() && p.is_file());
        Ok(Self {
            suite: suite.to_owned(),
            mirror,
            files: files.collect(),
            environment,
            apt: proxies(&output("apt-config", &["dump"]).unwrap_or_default()),
            cargo_config: cargo_config(),
        })
    }
}

/// Whether this machine and this user can do it.
fn check() -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = effective_user(&status);
    if user != Some("0") {
        return Err(format!(
            "a bare system is made by root, and this is user {}\nhint: run it as root, or in a virtual machine",
            user.unwrap_or("unknown")
        ));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let missing = PROGRAMS
        .iter()
        .filter(|(name, _)| !env::split_paths(&path).any(|folder| folder.join(name).is_file()));
    let missing: Vec<String> = missing.map(|(name, from)| format!("{name} ({from})")).collect();
    if !missing.is_empty() {
        return Err(format!(
            "a bare system cannot be made without {}\nhint: apt-get install debootstrap util-linux mount git",
            missing.join(", ")
        ));
    }
    output("unshare", &["--mount", "--pid", "--ipc", "--uts", "--fork", "true"])
        .map(|_| ())
        .map_err(|why| {
            format!("root may not make namespaces here: {why}\nhint: run it outside of a container")
        })
}

/// The second number of the line `Uid:` in `proc_pid_status(5)`.
fn effective_user(status: &str) -> Option<&str> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)
}

fn is_taken(name: &str) -> bool {
    let of_network = STARTS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end));
    of_network && !SECRETS.iter().any(|secret| name.contains(secret))
}

/// All lists of sources, one after another.
fn sources() -> String {
    let folder = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.path()).collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/apt/sources.list"));
    let texts = files.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.map(|text| text + "\n\n").collect()
}

/// The first source of `main` for a suite, in either of apt's formats: sources.list(5).
fn mirror(sources: &str, suite: &str) -> Option<String> {
    sources.split("\n\n").find_map(|part| {
        part.lines().find_map(|line| of_line(line, suite)).or_else(|| of_paragraph(part, suite))
    })
}

/// `deb [options] URL SUITE COMPONENTS`.
fn of_line(line: &str, suite: &str) -> Option<String> {
    let rest = line.strip_prefix("deb ")?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let fits = words.get(1) == Some(&suite) && words.get(2..)?.contains(&"main");
    fits.then(|| words[0].to_owned())
}

/// A paragraph with the fields `URIs`, `Suites` and `Components`.
fn of_paragraph(part: &str, suite: &str) -> Option<String> {
    let field = |name: &str| {
        let value = part.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(value.split_whitespace().collect::<Vec<_>>())
    };
    let fits = field("Suites")?.contains(&suite) && field("Components")?.contains(&"main");
    let uri = field("URIs")?.first()?.to_string();
    fits.then_some(uri)
}

/// The lines of apt's configuration that name a proxy.
fn proxies(dump: &str) -> String {
    let names_one = |line: &&str| {
        let name = line.split_whitespace().next().unwrap_or_default();
        name.starts_with("Acquire::") && name.contains("Proxy")
    };
    dump.lines().filter(names_one).flat_map(|line| [line, "\n"]).collect()
}

fn cargo_config() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    ["config.toml", "config"].map(|name| home.join(name)).into_iter().find(|path| path.is_file())
}

/// What a program says on standard output, without the end of the line.
pub(super) fn output(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|err| format!("cannot start `{program}`: {err}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("`{program}` ended with {}: {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAGRAPHS: &str = "\
Types: deb
URIs: http://security.example/debian
Suites: bookworm-security
Components: main

Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
";

    #[test]
    fn the_mirror_of_a_suite_is_found_in_both_formats() {
        let found = |text, suite| mirror(text, suite);
        assert_eq!(found(PARAGRAPHS, "bookworm").unwrap(), "http://mirror.example/debian");
        assert_eq!(found(PARAGRAPHS, "trixie"), None);
        let lines = "# deb http://old.example/ bookworm main\n\
                     deb http://tool.example/ stable main\n\
                     deb [arch=amd64 signed-by=/a] http://line.example/ bookworm main\n";
        assert_eq!(found(lines, "bookworm").unwrap(), "http://line.example/");
        assert_eq!(found("deb http://x.example/ bookworm contrib\n", "bookworm"), None);
    }

    #[test]
    fn the_effective_user_is_the_second_number() {
        assert_eq!(effective_user("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some("0"));
        assert_eq!(effective_user("Uid:\t0\t1000\t0\t0\n"), Some("1000"));
        assert_eq!(effective_user(""), None);
    }

    #[test]
    fn variables_of_the_network_are_taken_over_and_secrets_are_not() {
        for name in
            ["https_proxy", "NO_PROXY", "CARGO_HTTP_CAINFO", "SSL_CERT_FILE", "CURL_CA_BUNDLE"]
        {
            assert!(is_taken(name), "{name}");
        }
        for name in ["HOME", "CARGO_REGISTRIES_OWN_TOKEN", "HF_TOKEN", "CARGO_HOME"] {
            assert!(!is_taken(name), "{name}");
        }
    }

    #[test]
    fn only_proxies_are_taken_from_the_configuration_of_apt() {
        let dump = "APT::Proxy \"no\";\nAcquire::http::Proxy \"http://p.example:1\";\nAcquire::Retries \"3\";";
        assert_eq!(proxies(dump), "Acquire::http::Proxy \"http://p.example:1\";\n");
    }
}
