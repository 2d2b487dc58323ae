//! The measurements of a run as a table for other programs.
//!
//! It has what `events.jsonl` has, in its order: a step that a killed run computed twice is there
//! once, since its event is.
//!
//! Not here: the file for TensorBoard, which is in `event_file.rs`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use crate::atomic::replace_with;
use crate::error::ViewError;
use crate::event::{Event, TimedEvent};
use crate::overview::each_event;
use crate::run_dir::RunView;

/// Writes a table with a row for each step: its number, its time, and a column for every metric. A
/// metric that was not recorded in a step is empty. Returns the number of steps.
pub fn csv(view: &RunView, out: &Path) -> Result<u64, ViewError> {
    let mut names = BTreeSet::new();
    each_event(view, |timed| {
        if let Event::Metrics { values, .. } = timed.event {
            names.extend(values.into_keys());
        }
    })?;
    written(view, out, |file, timed| {
        let Some(timed) = timed else {
            let names = names.iter().map(|name| format!(",{}", quoted(name)));
            return writeln!(file, "step,time_ms{}", names.collect::<String>());
        };
        let Event::Metrics { step, values, .. } = &timed.event else { return Ok(()) };
        let cell = |name| values.get(name).map_or(",".to_owned(), |value| format!(",{value}"));
        let cells: String = names.iter().map(cell).collect();
        writeln!(file, "{step},{}{cells}", timed.time_ms)
    })
}

/// Writes a file atomically: a head that belongs to no event, and then an entry for every event.
/// Returns the number of steps.
fn written(
    view: &RunView,
    out: &Path,
    mut put: impl FnMut(&mut dyn Write, Option<&TimedEvent>) -> io::Result<()>,
) -> Result<u64, ViewError> {
    let (mut steps, mut read) = (0, Ok(()));
    replace_with(out, |file| {
        let mut put_all = put(file, None);
        read = each_event(view, |timed| {
            steps += u64::from(matches!(timed.event, Event::Metrics { .. }));
            if put_all.is_ok() {
                put_all = put(file, Some(&timed));
            }
        });
        put_all
    })?;
    read?;
    Ok(steps)
}

/// A name as a cell: in quotes if it has anything that would end it.
fn quoted(name: &str) -> String {
    if name.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::run_dir::RunDir;

    fn run(root: &Path) -> RunView {
        let mut run = RunDir::create(root, "a", "", 1).unwrap();
        let mut put = |time_ms, step, values: &[(&str, f64)]| {
            let values: BTreeMap<String, f64> =
                values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            let event = Event::Metrics { stage: "grpo".to_owned(), step, values };
            run.append_event(&TimedEvent { time_ms, event }).unwrap();
        };
        put(2000, 1, &[("b", 0.1), ("a,\"c\"", 2.0)]);
        put(3000, 2, &[("b", f64::NAN)]);
        drop(run);
        RunDir::open_read_only(root, "a").unwrap()
    }

    #[test]
    fn a_table_has_every_name_and_leaves_out_what_was_not_measured() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a.csv");
        assert_eq!(csv(&run(root.path()), &out).unwrap(), 2);
        let text = std::fs::read_to_string(&out).unwrap();
        assert_eq!(text, "step,time_ms,\"a,\"\"c\"\"\",b\n1,2000,2,0.1\n2,3000,,NaN\n");
    }
}
