//! The measurements before and after a quickstart's training, in the card of its final model.

use std::collections::BTreeMap;
use std::path::Path;

use whetstone_core::config::Config;
use whetstone_eval::{Decoding, EvalError, Measured, pass_at_k};
use whetstone_record::atomic;
use whetstone_record::plain_file::read_plain;
use whetstone_train::card::{self, CARD, LIMIT_BYTES, Row, with_evaluations};

use crate::failure::Failure;
use crate::phases::{Phases, When, own_decoding};

/// Writes what was measured into the card. A final model without one, of an older version, stays so.
pub(super) fn complete(model: &Path, phases: &Phases, config: &Config) -> Result<(), Failure> {
    let path = model.join(CARD);
    let Some(text) =
        read_plain(&path, LIMIT_BYTES).ok().and_then(|text| String::from_utf8(text).ok())
    else {
        return Ok(());
    };
    let found = [("before training", When::Before), ("after training", When::After)];
    let tables = found
        .into_iter()
        .map(|(what, when)| table(what, &phases.measured(when, own_decoding(config)), config));
    let tables = tables.filter_map(Result::transpose);
    let tables = tables.collect::<Result<Vec<_>, EvalError>>()?;
    let written = atomic::replace(&path, with_evaluations(&text, &tables).as_bytes());
    written.map_err(|err| Failure::View(err.into()))
}

/// pass@k at `eval.temperature`, and pass@1 at every other temperature.
fn table(
    what: &str,
    found: &BTreeMap<Decoding, &Measured>,
    config: &Config,
) -> Result<Option<card::Measured>, EvalError> {
    let own = own_decoding(config);
    let Some(first) = found.get(&own) else { return Ok(None) };
    let by_k = config.eval.k.iter().map(|&k| row(format!("pass@{k}"), first, k));
    let others = found.iter().filter(|(decoding, _)| **decoding != own);
    let others = others.map(|(decoding, found)| row(format!("pass@1, {decoding}"), found, 1));
    Ok(Some(card::Measured {
        what: what.to_owned(),
        tasks: first.tallies.len() as u64,
        samples: first.tallies.iter().map(|tally| tally.samples).max().unwrap_or(0),
        how: own.to_string(),
        suite: None,
        rows: by_k.chain(others).collect::<Result<_, EvalError>>()?,
    }))
}

fn row(name: String, found: &Measured, k: u32) -> Result<Row, EvalError> {
    let estimate = pass_at_k(&found.tallies, u64::from(k))?;
    let (value, low, high) = (estimate.value, estimate.low, estimate.high);
    Ok(Row { name, value, low, high })
}
