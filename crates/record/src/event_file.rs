//! A TensorBoard event file that follows a run while it goes on.
//!
//! Its bytes are a function of the run's events: a head, and one record for each recorded step. A run that is resumed
//! computes steps again that it lost with its process, but never records one twice, so no step has to be purged
//! (`SessionLog::START` in TensorFlow) and one file is enough. A kill leaves a prefix of the file; the next
//! [`EventFile::follow`] appends what is missing, a cut record included, so that a TensorBoard that has the file open
//! goes on reading where it stopped. The file is locked while it is compared and appended to, so a training and
//! `whet runs tensorboard` can both write it.
//!
//! Not here: the format, which is in `tensorboard.rs`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{FileError, ReadError, ViewError};
use crate::event::Event;
use crate::journal::Position;
use crate::overview::each_event_from;
use crate::plain_file::open_with;
use crate::run_dir::RunView;
use crate::tensorboard::Scalars;

/// The folder of the file in a run, unless another is named.
pub const FOLDER: &str = "tensorboard";

/// An event file, and how far it is written.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    /// When the run began: a part of the name and of the head.
    began_ms: u64,
    /// Events whose steps are in the file.
    position: Position,
    /// Bytes of the file after they were written.
    bytes: u64,
    steps: u64,
}

/// Records that are not in the file yet.
struct Pending {
    bytes: Vec<u8>,
    position: Position,
    steps: u64,
}

impl EventFile {
    /// The file of a run in a folder, which is created. Nothing is written before [`Self::follow`].
    ///
    /// # Errors
    ///
    /// If the folder cannot be created, or the events cannot be read.
    pub fn new(view: &RunView, folder: &Path) -> Result<Self, ViewError> {
        std::fs::create_dir_all(folder).map_err(FileError::at("create the directory", folder))?;
        let mut events = view.events()?;
        let began_ms = match events.next() {
            Some(Ok((_, first))) => first.time_ms,
            Some(Err(err)) if !err.is_torn() => return Err(err.into()),
            _ => 0,
        };
        // Runs that share a folder and began in the same second have files of their own.
        let (s, ms) = (began_ms / 1000, began_ms % 1000);
        let path = folder.join(format!("events.out.tfevents.{s}.{ms:03}.whet"));
        Ok(Self { path, began_ms, position: Position::default(), bytes: 0, steps: 0 })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Steps that were written, or found there.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Appends the steps that were recorded since the last call.
    ///
    /// # Errors
    ///
    /// If the events cannot be read, or the file cannot be written; the next call repairs it.
    pub fn follow(&mut self, view: &RunView) -> Result<(), ViewError> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let failed = |source| FileError { step: "write", path: self.path.clone(), source };
        let mut file = open_with(&self.path, &mut options).map_err(failed)?;
        file.lock().map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length != self.bytes || length == 0 {
            // The first call, or another process wrote it: compared with what it should be.
            (self.position, self.bytes, self.steps) = (Position::default(), 0, 0);
        }
        let pending = self.pending(view)?;
        let known = if self.bytes == 0 { common(&mut file, &pending.bytes) } else { Ok(0) };
        let known = known.map_err(failed)?;
        let rest = usize::try_from(known).ok().and_then(|known| pending.bytes.get(known..));
        let end = self.bytes + known;
        append(&mut file, end, rest.unwrap_or_default()).map_err(failed)?;
        self.bytes += pending.bytes.len() as u64;
        self.steps += pending.steps;
        self.position = pending.position;
        Ok(())
    }

    /// The records behind the position, with the head if that is the beginning.
    fn pending(&self, view: &RunView) -> Result<Pending, ReadError> {
        let (mut bytes, mut steps) = (Vec::new(), 0);
        let mut written = if self.bytes == 0 {
            Scalars::begin(&mut bytes, self.began_ms).map(drop)
        } else {
            Ok(())
        };
        let position = each_event_from(view, self.position, |timed| {
            let Event::Metrics { step, values, .. } = &timed.event else { return };
            let values = values.iter().map(|(name, value)| (name.as_str(), *value));
            let record = Scalars::go_on(&mut bytes).step(timed.time_ms, *step, values);
            if written.is_ok() {
                written = record;
            }
            steps += 1;
        })?;
        written.expect("memory takes everything");
        Ok(Pending { bytes, position, steps })
    }
}

/// Bytes at the beginning of the file that are right.
fn common(file: &mut File, wanted: &[u8]) -> io::Result<u64> {
    let mut there = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(wanted.len() as u64).read_to_end(&mut there)?;
    let same = there.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    // A file of something else is written anew.
    Ok(if same == there.len() { same as u64 } else { 0 })
}

/// Ends the file there with these bytes.
fn append(file: &mut File, end: u64, bytes: &[u8]) -> io::Result<()> {
    if file.metadata()?.len() != end {
        file.set_len(end)?;
    }
    file.seek(SeekFrom::Start(end))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::event::TimedEvent;
    use crate::run_dir::RunDir;

    fn record(run: &mut RunDir, step: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a small step")]
        let values = BTreeMap::from([("grpo/mean_reward".to_owned(), step as f64 / 8.0)]);
        let event = Event::Metrics { stage: "grpo".to_owned(), step, values };
        run.append_event(&TimedEvent { time_ms: 1000 * step, event }).unwrap();
    }

    /// A run of three steps, and its whole file.
    fn run(root: &Path) -> (RunDir, Vec<u8>) {
        let mut run = RunDir::create(root, "a", "", 1).unwrap();
        (1..=3).for_each(|step| record(&mut run, step));
        let mut file = EventFile::new(run.view(), &root.join("whole")).unwrap();
        file.follow(run.view()).unwrap();
        assert_eq!(file.steps(), 3);
        let whole = fs::read(file.path()).unwrap();
        (run, whole)
    }

    #[test]
    fn a_file_that_follows_is_the_one_that_is_written_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let mut run = RunDir::create(root.path(), "a", "", 1).unwrap();
        record(&mut run, 1);
        let mut live = EventFile::new(run.view(), &root.path().join("live")).unwrap();
        let mut lengths = Vec::new();
        for step in 2..=4 {
            live.follow(run.view()).unwrap();
            lengths.push(fs::metadata(live.path()).unwrap().len());
            record(&mut run, step);
        }
        assert!(lengths[0] < lengths[1] && lengths[1] < lengths[2], "{lengths:?}");
        live.follow(run.view()).unwrap();
        live.follow(run.view()).unwrap();
        let mut whole = EventFile::new(run.view(), &root.path().join("whole")).unwrap();
        whole.follow(run.view()).unwrap();
        assert_eq!(fs::read(live.path()).unwrap(), fs::read(whole.path()).unwrap());
        assert_eq!((live.steps(), whole.steps()), (4, 4));
    }

    #[test]
    fn a_file_that_a_kill_cut_at_any_byte_is_completed() {
        let root = tempfile::tempdir().unwrap();
        let (run, whole) = run(root.path());
        let mut file = EventFile::new(run.view(), &root.path().join("cut")).unwrap();
        for end in 0..=whole.len() {
            fs::write(file.path(), &whole[..end]).unwrap();
            file.follow(run.view()).unwrap();
            assert!(fs::read(file.path()).unwrap() == whole, "cut at {end}");
        }
    }

    #[test]
    fn what_is_more_or_other_than_the_events_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (run, whole) = run(root.path());
        let longer = [&whole[..], b"of a step that was lost"].concat();
        for there in [longer, b"something else".to_vec(), vec![0; 2 * whole.len()]] {
            let mut file = EventFile::new(run.view(), &root.path().join("other")).unwrap();
            fs::write(file.path(), there).unwrap();
            file.follow(run.view()).unwrap();
            assert!(fs::read(file.path()).unwrap() == whole);
        }
    }

    #[test]
    fn two_writers_leave_every_step_once() {
        let root = tempfile::tempdir().unwrap();
        let (mut run, _) = run(root.path());
        let folder = root.path().join("shared");
        let mut files = [(); 2].map(|()| EventFile::new(run.view(), &folder).unwrap());
        for step in 4..=9 {
            record(&mut run, step);
            files[usize::from(step % 3 == 0)].follow(run.view()).unwrap();
        }
        let mut whole = EventFile::new(run.view(), &root.path().join("alone")).unwrap();
        whole.follow(run.view()).unwrap();
        assert!(fs::read(files[0].path()).unwrap() == fs::read(whole.path()).unwrap());
    }

    #[test]
    fn it_has_a_head_and_a_record_for_each_step() {
        let root = tempfile::tempdir().unwrap();
        let (_run, whole) = run(root.path());
        let (mut rest, mut records) = (&whole[..], 0);
        while let Some((length, _)) = rest.split_first_chunk::<8>() {
            rest = &rest[usize::try_from(u64::from_le_bytes(*length)).unwrap() + 16..];
            records += 1;
        }
        assert_eq!((records, rest.len()), (4, 0));
        assert!(
            root.path().join("whole/events.out.tfevents.1.000.whet").is_file(),
            "the time it began"
        );
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let (run, _) = run(root.path());
        let mut file = EventFile::new(run.view(), &root.path().join("linked")).unwrap();
        let target = root.path().join("precious");
        fs::write(&target, "text").unwrap();
        std::os::unix::fs::symlink(&target, file.path()).unwrap();
        assert!(file.follow(run.view()).is_err());
        assert_eq!(fs::read_to_string(target).unwrap(), "text");
    }
}
