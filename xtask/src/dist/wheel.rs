//! The wheel: a zip whose program `pip` puts on the PATH (PEP 427; metadata of PEP 566).

use sha2::{Digest, Sha256};

use super::entry::{Entry, sorted};
use super::{Release, zip};

const NAME: &str = "whetstone";

/// Packs the program as `whetstone-VERSION-py3-none-PLATFORM.whl`.
pub(super) fn pack(release: &Release, readme: &str, license: &str) -> Result<Entry, String> {
    let version = &release.version;
    let tag = format!("py3-none-{}", release.needs.tag());
    let info = format!("{NAME}-{version}.dist-info");
    let program = format!("{NAME}-{version}.data/scripts/whet");
    let entries = [
        Entry::program(&program, release.program.clone()),
        Entry::text(&format!("{info}/LICENSE"), license.to_owned()),
        Entry::text(&format!("{info}/METADATA"), metadata(version, readme)),
        Entry::text(&format!("{info}/WHEEL"), wheel(version, &tag)),
    ];
    let mut entries: Vec<Entry> = sorted(&entries).into_iter().cloned().collect();
    entries.push(record(&format!("{info}/RECORD"), &entries));
    let bytes = zip::pack(&entries).map_err(|err| format!("cannot pack the wheel: {err}"))?;
    Ok(Entry::file(&format!("{NAME}-{version}-{tag}.whl"), bytes))
}

fn metadata(version: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.1\n\
         Name: {NAME}\n\
         Version: {version}\n\
         Summary: Post-train code models on rewards that can be verified\n\
         License: MIT\n\
         Classifier: License :: OSI Approved :: MIT License\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Rust\n\
         Requires-Python: >=3.9\n\
         Description-Content-Type: text/markdown\n\
         \n\
         {readme}"
    )
}

fn wheel(version: &str, tag: &str) -> String {
    format!(
        "Wheel-Version: 1.0\n\
         Generator: xtask ({version})\n\
         Root-Is-Purelib: false\n\
         Tag: {tag}\n"
    )
}

/// A row for each file with its hash and size, and one for the record itself without either.
fn record(name: &str, entries: &[Entry]) -> Entry {
    let row = |entry: &Entry| {
        let hash = base64(&Sha256::digest(&entry.bytes));
        format!("{},sha256={hash},{}\n", entry.name, entry.bytes.len())
    };
    let rows: String = entries.iter().map(row).collect();
    Entry::text(name, format!("{rows}{name},,\n"))
}

/// Base64 with the alphabet for file names and without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..=chunk.len() {
            let letter = bits >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[letter as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::build::Glibc;
    use crate::dist::elf::Needs;
    use std::process::{Command, Output};

    fn release(arch: &'static str) -> Release {
        let glibc = Glibc { major: 2, minor: 17 };
        Release {
            version: "1.2.3".to_owned(),
            program: b"#!/bin/sh\necho sharpened\n".to_vec(),
            needs: Needs { arch, glibc },
            extras: Vec::new(),
        }
    }

    #[test]
    fn hashes_are_written_as_python_writes_them() {
        // python3 -c "import base64; print(base64.urlsafe_b64encode(b'\xfb\xef\xff\x00').rstrip(b'='))"
        assert_eq!(base64(b"\xfb\xef\xff\x00"), "--__AA");
        assert_eq!(base64(b"ab"), "YWI");
        assert_eq!(base64(b""), "");
    }

    /// `pip install` of a wheel, without an index; nothing where there is no pip.
    fn install(wheel: &Entry, args: &[&str]) -> Option<Output> {
        let dir = tempfile::tempdir().unwrap();
        wheel.write(dir.path()).unwrap();
        let pip = ["-m", "pip", "--disable-pip-version-check", "install", "--no-index", "--quiet"];
        let output = Command::new("python3")
            .args(pip)
            .args(args)
            .arg(dir.path().join(&wheel.name))
            .output()
            .unwrap();
        if said(&output).contains("No module named pip") {
            eprintln!("SKIPPED: python3 has no pip");
            return None;
        }
        Some(output)
    }

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[test]
    fn pip_installs_the_program_and_accepts_every_hash() {
        let there = tempfile::tempdir().unwrap();
        let wheel = pack(&release(std::env::consts::ARCH), "# Whetstone\n", "MIT\n").unwrap();
        let args = ["--ignore-installed", "--target", there.path().to_str().unwrap()];
        let Some(output) = install(&wheel, &args) else { return };
        assert!(output.status.success(), "{}", said(&output));
        let output = Command::new(there.path().join("bin/whet")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "sharpened\n");
    }

    #[test]
    fn pip_refuses_the_wheel_of_another_processor() {
        let Some(output) = install(&pack(&release("riscv64"), "", "").unwrap(), &[]) else {
            return;
        };
        assert!(!output.status.success());
        assert!(said(&output).contains("is not a supported wheel on this platform"));
    }
}
