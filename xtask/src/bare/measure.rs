//! Wall time, CPU time and disk of what was run, as a table.
//!
//! CPU time is that of all children that have ended and been waited for, from `/proc/self/stat`: what a process
//! leaves running when it ends is not counted.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// A line of the table.
#[derive(Debug)]
pub(super) struct Row {
    /// The command, or the name of the system.
    pub(super) what: String,
    /// Nothing for a heading.
    used: Option<Used>,
}

#[derive(Debug)]
struct Used {
    wall: Duration,
    cpu: Duration,
    /// The whole system after the command.
    disk_mb: u64,
}

impl Row {
    /// The name of a system.
    pub(super) fn heading(name: &str) -> Self {
        Self { what: name.to_owned(), used: None }
    }
}

/// What is measured while a command runs.
pub(super) struct Start {
    wall: Instant,
    cpu: Duration,
}

impl Start {
    /// Begins to measure.
    pub(super) fn now() -> Self {
        Self { wall: Instant::now(), cpu: children() }
    }

    /// Ends it, with the disk that the folder takes then.
    pub(super) fn end(self, what: &str, folder: &Path) -> Row {
        let (wall, cpu) = (self.wall.elapsed(), children().saturating_sub(self.cpu));
        Row { what: what.to_owned(), used: Some(Used { wall, cpu, disk_mb: disk_mb(folder) }) }
    }
}

/// The CPU time of children, in which the kernel counts hundredths of a second.
fn children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(10 * ticks(&stat))
}

/// Fields 16 and 17 of `proc_pid_stat(5)`. The second field is a name in parentheses and may contain spaces.
fn ticks(stat: &str) -> u64 {
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = rest.split_whitespace().skip(13).take(2);
    fields.filter_map(|field| field.parse::<u64>().ok()).sum()
}

fn disk_mb(folder: &Path) -> u64 {
    let du = Command::new("du").args(["-s", "-x", "--block-size=1000000"]).arg(folder).output();
    let said = du.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let size = said.ok().and_then(|said| said.split_whitespace().next()?.parse().ok());
    size.unwrap_or(0)
}

/// All rows, with the units in the head.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = format!("{:<48} {:>9} {:>9} {:>9}\n", "", "wall s", "CPU s", "disk MB");
    for Row { what, used } in rows {
        // Writing to a string cannot fail.
        let _ = match used {
            None => writeln!(text, "{what}"),
            Some(Used { wall, cpu, disk_mb }) => writeln!(
                text,
                "  {what:<46} {:>9.1} {:>9.1} {disk_mb:>9}",
                wall.as_secs_f64(),
                cpu.as_secs_f64()
            ),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_found_behind_any_name() {
        let stat = "42 (a) b) c) S 1 42 42 0 -1 4194560 100 200 0 0 5 7 250 50 20 0 1 0";
        assert_eq!(ticks(stat), 300);
        assert_eq!(ticks(""), 0);
    }

    #[test]
    fn a_table_has_a_line_for_each_command_below_its_system() {
        let used =
            Used { wall: Duration::from_millis(1250), cpu: Duration::from_secs(2), disk_mb: 300 };
        let rows =
            [Row::heading("wheel"), Row { what: "whet doctor".to_owned(), used: Some(used) }];
        let lines: Vec<String> = table(&rows)
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines, ["wall s CPU s disk MB", "wheel", "whet doctor 1.2 2.0 300"]);
    }
}
