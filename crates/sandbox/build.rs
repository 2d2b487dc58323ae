//! Builds the jail as a shared object for the Python zygote: the files of `src/jail`, with `core`
//! alone, straight through rustc. The crate then carries the object's bytes.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/jail");
    let object = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("jail.so");
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets it"));
    rustc
        .args(["src/jail/object.rs", "--crate-name", "jail", "--crate-type", "cdylib"])
        .args([
            "--edition",
            "2024",
            "-C",
            "opt-level=2",
            "-C",
            "panic=abort",
            "-C",
            "strip=symbols",
        ])
        .args(["-C", "link-arg=-nostartfiles"])
        .args(["--target", &env::var("TARGET").expect("cargo sets it")])
        .arg("-o")
        .arg(&object);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut argument = std::ffi::OsString::from("linker=");
        argument.push(linker);
        rustc.arg("-C").arg(argument);
    }
    let status = rustc.status().expect("rustc starts");
    assert!(status.success(), "the jail does not compile");
}
