//! What a program needs of a system: its processor, its C library, and nothing else.
//!
//! The rule is that of PEP 600: `manylinux_X_Y` is true of a program whose symbols are all in glibc X.Y and
//! that loads only libraries that every such system has. Read with `readelf` from the dynamic section and the
//! symbol versions, so that the name of a wheel cannot promise more than the program keeps.

use std::path::Path;
use std::process::Command;

use super::build::Glibc;

/// What a program needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Needs {
    /// The processor, as Python and cargo name it.
    pub(super) arch: &'static str,
    /// The oldest glibc that has every symbol.
    pub(super) glibc: Glibc,
}

impl Needs {
    /// The tag of a wheel, by PEP 600.
    pub(super) fn tag(&self) -> String {
        let Glibc { major, minor } = self.glibc;
        format!("manylinux_{major}_{minor}_{}", self.arch)
    }
}

/// Names of processors: `readelf`'s and ours.
const MACHINES: [(&str, &str); 2] =
    [("Advanced Micro Devices X86-64", "x86_64"), ("AArch64", "aarch64")];

/// The libraries that every system with glibc has. CUDA's are opened at run time and are not among them.
const LIBRARIES: [&str; 8] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// The format of relocations that glibc 2.36 learned to read; it has a name instead of a number.
const RELR: (&str, Glibc) = ("ABI_DT_RELR", Glibc { major: 2, minor: 36 });

/// Reads the needs of a program, or says what keeps it from running on any system with glibc.
pub(super) fn needs(program: &Path) -> Result<Needs, String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--file-header", "--dynamic", "--version-info"]).arg(program);
    let output = readelf
        .env("LC_ALL", "C")
        .output()
        .map_err(|err| format!("cannot start `readelf` (it comes with binutils): {err}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("`readelf` cannot read {}: {}", program.display(), said.trim()));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
        .map_err(|why| format!("{}: {why}", program.display()))
}

fn parse(text: &str) -> Result<Needs, String> {
    let machine = text.lines().find_map(|line| line.trim().strip_prefix("Machine:"));
    let machine = machine.map(str::trim).ok_or("is not an ELF program")?;
    let arch = MACHINES.iter().find(|(name, _)| *name == machine);
    let (_, arch) = arch.ok_or_else(|| format!("is a program for {machine}"))?;
    let library =
        |line: &str| Some(line.split_once("Shared library: [")?.1.split_once(']')?.0.to_owned());
    let libraries: Vec<String> = text.lines().filter_map(library).collect();
    if libraries.is_empty() {
        return Err("is linked statically and cannot load the libraries of CUDA".to_owned());
    }
    if let Some(strange) = libraries.iter().find(|name| !LIBRARIES.contains(&name.as_str())) {
        return Err(format!("needs {strange}, which not every system has"));
    }
    Ok(Needs { arch, glibc: newest(text)? })
}

/// The newest version of glibc among those that symbols are bound to.
fn newest(text: &str) -> Result<Glibc, String> {
    let name = |line: &str| {
        let name = line.split_once("Name: GLIBC_")?.1;
        name.split_whitespace().next().map(str::to_owned)
    };
    let versions = text
        .lines()
        .filter_map(name)
        .map(|name| if name == RELR.0 { Ok(RELR.1) } else { version(&name) });
    let versions = versions.collect::<Result<Vec<Glibc>, String>>()?;
    versions.into_iter().max().ok_or_else(|| "has no symbol of glibc".to_owned())
}

/// `2.17`, or `2.2.5` whose last part no tag has: the next version has it all.
fn version(name: &str) -> Result<Glibc, String> {
    let numbers: Result<Vec<u32>, _> = name.split('.').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([major, minor]) => Ok(Glibc { major: *major, minor: *minor }),
        Ok([major, minor, _]) => Ok(Glibc { major: *major, minor: minor + 1 }),
        _ => Err(format!("needs the symbols GLIBC_{name}, which have no version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "  Machine:                           Advanced Micro Devices X86-64\n\
        \u{20}0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n";

    #[track_caller]
    fn check(lines: &str, expected: Result<&str, &str>) {
        let found = parse(&format!("{HEAD}{lines}")).map(|needs| needs.tag());
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn the_newest_symbol_decides_by_number_and_not_by_text() {
        check(
            "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5\n\
             \u{20} 0x0020:   Name: GLIBC_2.28  Flags: none  Version: 4\n\
             \u{20} 0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 3\n",
            Ok("manylinux_2_28_x86_64"),
        );
    }

    #[test]
    fn a_patch_version_is_rounded_up() {
        check("  0x0010:   Name: GLIBC_2.2.5  Flags: none", Ok("manylinux_2_3_x86_64"));
    }

    #[test]
    fn packed_relocations_count_as_the_version_that_reads_them() {
        check(
            "  Name: GLIBC_2.17  Flags: none\n  Name: GLIBC_ABI_DT_RELR  Flags: none",
            Ok("manylinux_2_36_x86_64"),
        );
    }

    #[test]
    fn a_program_that_is_bound_to_one_system_is_refused() {
        check(
            "  Name: GLIBC_PRIVATE  Flags: none",
            Err("needs the symbols GLIBC_PRIVATE, which have no version"),
        );
        check(
            " 0x0000000000000001 (NEEDED)  Shared library: [libzstd.so.1]\n",
            Err("needs libzstd.so.1, which not every system has"),
        );
        assert_eq!(
            parse(HEAD.lines().next().unwrap()).unwrap_err(),
            "is linked statically and cannot load the libraries of CUDA"
        );
        assert_eq!(parse("  Machine:  RISC-V\n").unwrap_err(), "is a program for RISC-V");
    }

    #[test]
    fn this_test_program_is_read_as_the_processor_it_runs_on() {
        let needs = needs(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(needs.arch, std::env::consts::ARCH);
    }
}
