//! `install.sh`: the template in `dist/`, with the version and the needs of the program that it installs.

use super::Release;
use super::build::Glibc;
use super::entry::Entry;

/// Puts what is known of the release in the place of `@NAMES@`.
pub(super) fn fill(template: &str, release: &Release) -> Result<Entry, String> {
    let Glibc { major, minor } = release.needs.glibc;
    let script = template
        .replace("@VERSION@", &release.version)
        .replace("@ARCH@", release.needs.arch)
        .replace("@GLIBC@", &format!("{major}.{minor}"));
    match script.lines().find(|line| is_unfilled(line)) {
        Some(line) => Err(format!("dist/install.sh has a name that is not known: {line}")),
        None => Ok(Entry::program("install.sh", script.into_bytes())),
    }
}

fn is_unfilled(line: &str) -> bool {
    let mut parts = line.split('@').skip(1);
    parts.any(|part| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::elf::Needs;
    use crate::dist::{archive, sha256};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;
    use std::process::{Command, Output};

    /// What the script calls of a system.
    const TOOLS: [&str; 16] = [
        "cat",
        "chmod",
        "cp",
        "getconf",
        "gzip",
        "head",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "sed",
        "sha256sum",
        "sort",
        "tar",
        "uname",
        "sh",
    ];

    /// A release in a folder, and a system with the tools that a test leaves it.
    struct Scene {
        dir: tempfile::TempDir,
        archive: String,
    }

    impl Scene {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let release = Release {
                version: "1.2.3".to_owned(),
                program: b"#!/bin/sh\necho whet 1.2.3\n".to_vec(),
                needs: Needs { arch: "x86_64", glibc: Glibc { major: 2, minor: 28 } },
                extras: vec![Entry::text("completions/bash/whet", "complete\n".to_owned())],
            };
            let root = crate::root();
            let template = fs::read_to_string(root.join("dist/install.sh")).unwrap();
            let packed = archive(&root, &release).unwrap();
            let sum = format!("{}  {}\n", sha256(&packed.bytes), packed.name);
            let sum = Entry::text(&format!("{}.sha256", packed.name), sum);
            for entry in [&fill(&template, &release).unwrap(), &packed, &sum] {
                entry.write(dir.path()).unwrap();
            }
            let scene = Self { archive: packed.name.clone(), dir };
            fs::create_dir(scene.path("tools")).unwrap();
            for tool in TOOLS {
                scene.tool(tool);
            }
            scene.says("uname", "case $1 in -s) echo Linux;; *) echo x86_64;; esac");
            scene.says("getconf", "echo glibc 2.36");
            scene.says("python3", "exit 0");
            scene
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        /// Links a tool of this machine.
        fn tool(&self, name: &str) {
            let path = std::env::var_os("PATH").unwrap();
            let found = std::env::split_paths(&path).map(|folder| folder.join(name));
            if let Some(found) = found.into_iter().find(|found| found.is_file()) {
                symlink(found, self.path("tools").join(name)).unwrap();
            }
        }

        fn lacks(&self, tool: &str) {
            fs::remove_file(self.path("tools").join(tool)).unwrap();
        }

        /// Puts a script in the place of a tool.
        fn says(&self, tool: &str, script: &str) {
            let _ = fs::remove_file(self.path("tools").join(tool));
            let path = self.path("tools").join(tool);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn install_with(&self, args: &[&str]) -> Output {
            Command::new("/bin/sh")
                .arg(self.path("install.sh"))
                .args(args)
                .env_clear()
                .env("PATH", self.path("tools"))
                .env("HOME", self.path("home"))
                .output()
                .unwrap()
        }

        fn install(&self) -> Output {
            self.install_with(&["--from", self.dir.path().to_str().unwrap()])
        }

        /// The installation fails with this sentence and leaves nothing.
        #[track_caller]
        fn check(&self, output: &Output, code: i32, sentence: &str) {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(&format!("error: {sentence}")), "{said}");
            assert!(said.contains("\nhint: "), "{said}");
            assert_eq!(said.lines().count(), 2, "{said}");
            assert_eq!(output.status.code(), Some(code), "{said}");
            assert!(!self.path("home/.local/bin/whet").exists());
        }
    }

    #[test]
    fn a_program_is_installed_with_what_goes_beside_it() {
        let scene = Scene::new();
        let output = scene.install();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let bin = scene.path("home/.local/bin");
        let expected = format!(
            "installed whet 1.2.3 as {0}/whet\nnext: export PATH=\"{0}:$PATH\" && whet doctor\n",
            bin.display()
        );
        assert_eq!(said, expected);
        assert_eq!(fs::read_dir(&bin).unwrap().count(), 1);
        let completions = "home/.local/share/bash-completion/completions/whet";
        assert_eq!(fs::read_to_string(scene.path(completions)).unwrap(), "complete\n");
    }

    #[test]
    fn a_system_that_cannot_run_it_is_told_why() {
        let scene = Scene::new();
        scene.says("getconf", "echo glibc 2.9");
        scene.check(&scene.install(), 3, "whet needs glibc 2.28 or newer, and this system has 2.9");
        scene.says("getconf", "exit 1");
        let other = "whet needs glibc 2.28 or newer, and this system has another C library";
        scene.check(&scene.install(), 3, other);
        scene.says("uname", "case $1 in -s) echo Linux;; *) echo riscv64;; esac");
        let machine = "this archive is for x86_64, and this machine is riscv64";
        scene.check(&scene.install(), 3, machine);
        scene.says("uname", "echo Darwin");
        scene.check(&scene.install(), 3, "whet runs on Linux, and this is Darwin");
    }

    #[test]
    fn a_damaged_or_missing_archive_is_not_installed() {
        let scene = Scene::new();
        let path = scene.path(&scene.archive);
        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, bytes).unwrap();
        let damaged = format!("{} does not match its checksum", scene.archive);
        scene.check(&scene.install(), 3, &damaged);
        fs::remove_file(&path).unwrap();
        scene.check(&scene.install(), 3, &format!("{} is not there", path.display()));
    }

    #[test]
    fn a_missing_tool_is_named_and_a_missing_python_is_a_warning() {
        let scene = Scene::new();
        scene.lacks("python3");
        let said = String::from_utf8_lossy(&scene.install().stderr).into_owned();
        assert!(said.contains("warning: there is no python3"), "{said}");
        fs::remove_dir_all(scene.path("home")).unwrap();
        scene.says("python3", "exit 1");
        let said = String::from_utf8_lossy(&scene.install().stderr).into_owned();
        assert!(said.contains("warning: python3 is older than 3.9"), "{said}");
        fs::remove_dir_all(scene.path("home")).unwrap();
        scene.lacks("gzip");
        scene.check(&scene.install(), 3, "there is no gzip to unpack the archive with");
        let download = scene.install_with(&["--from", "https://example.invalid"]);
        scene.check(&download, 3, "there is no gzip");
        scene.tool("gzip");
        let download = scene.install_with(&["--from", "https://example.invalid"]);
        scene.check(&download, 3, "there is neither curl nor wget");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let scene = Scene::new();
        // A file where the folder should be refuses root too.
        fs::write(scene.path("home"), "").unwrap();
        let output = scene.install();
        let said = String::from_utf8_lossy(&output.stderr);
        let sentence = format!("error: cannot make the folder {}", scene.path("home").display());
        assert!(said.contains(&sentence), "{said}");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_wrong_command_line_is_a_usage_error() {
        let scene = Scene::new();
        scene.check(&scene.install_with(&[]), 2, "it is not known where the archive is");
        scene.check(&scene.install_with(&["--from"]), 2, "--from needs a value");
        scene.check(&scene.install_with(&["--fast"]), 2, "there is no option --fast");
    }

    #[test]
    fn a_name_in_the_template_that_is_not_known_is_refused() {
        let release = Release {
            version: "1".to_owned(),
            program: Vec::new(),
            needs: Needs { arch: "x86_64", glibc: Glibc { major: 2, minor: 28 } },
            extras: Vec::new(),
        };
        assert!(fill("v='@VERSION@' \"$@\"", &release).is_ok());
        assert!(fill("v='@VERSOIN@'", &release).unwrap_err().contains("@VERSOIN@"));
    }
}
