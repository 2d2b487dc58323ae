//! What recipes say, shown by the printer: notes, progress and plans.

use std::fmt::Display;

use whetstone_recipe::dry_run::DryRun;
use whetstone_recipe::observer::{self, Observer, Shown, TrainingView};

use crate::exit::Exit;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::train::view::View;

impl Observer for Printer {
    fn note(&self, line: &dyn Display) {
        Self::note(*self, line);
    }

    fn warning(&self, line: &dyn Display) {
        Self::warning(*self, line);
    }

    fn notes(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        let printer = *self;
        Box::new(move |note| printer.note(note))
    }

    fn progress(&self, unit: &'static str) -> Box<dyn observer::Progress + '_> {
        Box::new(Progress::new(*self, unit))
    }

    fn download(&self) -> Box<dyn Fn(u64, u64) + '_> {
        let bar = Self::progress(*self, 0).with_message("bytes");
        Box::new(move |bytes, all| {
            bar.set_length(all);
            bar.set_position(bytes);
        })
    }

    fn training(&self, steps: u64, shown: Shown) -> Box<dyn TrainingView + '_> {
        Box::new(View::new(*self, steps, shown))
    }
}

/// Writes the plan of a command.
pub(crate) fn dry_run(plan: &DryRun, json: bool, printer: Printer) -> anyhow::Result<Exit> {
    if json {
        printer.json(plan)?;
    } else {
        printer.raw(&plan.text())?;
    }
    Ok(Exit::Done)
}
