//! Completions and manual pages, which the program writes itself.
//!
//! A program without these commands is packed without them: `--help` says which commands there are.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::entry::Entry;

/// Shells, and the file name under which each looks for completions.
const SHELLS: [(&str, &str); 3] = [("bash", "whet"), ("zsh", "_whet"), ("fish", "whet.fish")];

/// Asks the program for what goes beside it.
pub(super) fn of(program: &Path) -> Result<Vec<Entry>, String> {
    let help = ask(program, &["--help"])?;
    let mut entries = Vec::new();
    if has_command(&help, "completions") {
        for (shell, name) in SHELLS {
            let text = ask(program, &["completions", shell])?;
            entries.push(Entry::text(&format!("completions/{shell}/{name}"), text));
        }
    }
    if has_command(&help, "man") {
        entries.extend(pages(program)?);
    }
    Ok(entries)
}

/// Whether the list of commands in a help text has this one.
fn has_command(help: &str, name: &str) -> bool {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let mut commands = commands.take_while(|line| line.starts_with("  "));
    commands.any(|line| line.split_whitespace().next() == Some(name))
}

/// The pages that `whet man --out DIR` writes.
fn pages(program: &Path) -> Result<Vec<Entry>, String> {
    let folder = program.with_extension("man");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|err| format!("{}: {err}", folder.display()))?;
    ask(program, &["man", "--out", &folder.to_string_lossy()])?;
    let read = || {
        fs::read_dir(&folder)?
            .map(|entry| {
                let entry = entry?;
                let name = format!("man/man1/{}", entry.file_name().to_string_lossy());
                Ok(Entry::file(&name, fs::read(entry.path())?))
            })
            .collect::<std::io::Result<Vec<Entry>>>()
    };
    let pages = read().map_err(|err| format!("{}: {err}", folder.display()))?;
    fs::remove_dir_all(&folder).map_err(|err| format!("{}: {err}", folder.display()))?;
    Ok(pages)
}

fn ask(program: &Path, args: &[&str]) -> Result<String, String> {
    let shown = format!("`{} {}`", program.display(), args.join(" "));
    let output =
        Command::new(program).args(args).output().map_err(|err| format!("{shown}: {err}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{shown} ended with {}: {}", output.status, said.trim()));
    }
    String::from_utf8(output.stdout).map_err(|err| format!("{shown}: {err}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(help: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("whet");
        let script = format!(
            "#!/bin/sh\ncase $1 in\n--help) printf '{help}' ;;\n\
             completions) echo \"for $2\" ;;\nman) echo page > \"$3/whet.1\" ;;\nesac\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut names: Vec<String> =
            of(&program).unwrap().into_iter().map(|entry| entry.name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_program_with_the_commands_is_asked_for_every_shell_and_its_pages() {
        assert_eq!(
            names("Commands:\\n  completions  x\\n  man          y\\n\\nOptions:\\n"),
            [
                "completions/bash/whet",
                "completions/fish/whet.fish",
                "completions/zsh/_whet",
                "man/man1/whet.1"
            ]
        );
    }

    #[test]
    fn a_word_outside_the_list_of_commands_is_not_a_command() {
        assert_eq!(names("man completions\\nCommands:\\n  doctor  man\\n\\n  man\\n"), [""; 0]);
    }
}
