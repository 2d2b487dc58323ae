//! The measurements before and after a quickstart's training, in the card of its final model.

use std::path::Path;

use whetstone_eval::{EvalError, Measured, pass_at_k};
use whetstone_record::atomic;
use whetstone_record::plain_file::read_plain;
use whetstone_train::card::{self, CARD, LIMIT_BYTES, Row, with_evaluations};

use crate::failure::Failure;
use crate::phases::Phases;

/// Writes what was measured into the card. A final model without one, of an older version, stays so.
pub(super) fn complete(model: &Path, phases: &Phases, ks: &[u32]) -> Result<(), Failure> {
    let path = model.join(CARD);
    let Some(text) =
        read_plain(&path, LIMIT_BYTES).ok().and_then(|text| String::from_utf8(text).ok())
    else {
        return Ok(());
    };
    let found = [("before training", &phases.before), ("after training", &phases.after)];
    let measured = found.into_iter().filter_map(|(what, found)| Some((what, found.as_ref()?)));
    let tables = measured.map(|(what, found)| table(what, found, ks));
    let tables = tables.collect::<Result<Vec<_>, EvalError>>()?;
    let written = atomic::replace(&path, with_evaluations(&text, &tables).as_bytes());
    written.map_err(|err| Failure::View(err.into()))
}

fn table(what: &str, found: &Measured, ks: &[u32]) -> Result<card::Measured, EvalError> {
    let row = |&k: &u32| {
        let estimate = pass_at_k(&found.tallies, u64::from(k))?;
        let (value, low, high) = (estimate.value, estimate.low, estimate.high);
        Ok(Row { name: format!("pass@{k}"), value, low, high })
    };
    Ok(card::Measured {
        what: what.to_owned(),
        tasks: found.tallies.len() as u64,
        samples: found.tallies.iter().map(|tally| tally.samples).max().unwrap_or(0),
        how: String::new(),
        suite: None,
        rows: ks.iter().map(row).collect::<Result<_, EvalError>>()?,
    })
}
