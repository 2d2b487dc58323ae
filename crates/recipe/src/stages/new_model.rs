//! `new_model`: rows, traces or tasks into a tokenizer and an untrained model, as `whet model new` makes them.

use serde::Deserialize;
use whetstone_core::Seed;
use whetstone_model::create::{Recipe, Sizes, SystemMessages, corpus, create};
use whetstone_model::weights::Dtype;
use whetstone_record::atomic::clear_temporaries;
use whetstone_record::outputs::Staged;

use super::job::{Job, Kind, StageEnd, Stops, figure, options};
use super::what::{Take, What};
use crate::device;
use crate::dry_run::{DryRun, Outcome};
use crate::failure::Failure;
use crate::model_failure::ModelFailure;

/// The model's directory in that of the stage.
const MODEL: &str = "model";

/// The kind.
pub(super) const KIND: Kind = Kind {
    name: "new_model",
    command: "whet model new",
    takes: |_| vec![Take::OneOf(&[What::Rows, What::Traces, What::Tasks])],
    makes: &[(What::Model, MODEL)],
    check: |entry, _| options::<NewModelOptions>(entry),
    run,
    sections: &[],
    stops: Stops::AtOnce,
};

/// The options, named as the flags of `whet model new`.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NewModelOptions {
    vocab: usize,
    width: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    ffn: usize,
    context: usize,
}

impl Default for NewModelOptions {
    fn default() -> Self {
        Self { vocab: 2048, width: 256, layers: 4, heads: 4, kv_heads: 2, ffn: 768, context: 1024 }
    }
}

impl NewModelOptions {
    fn recipe(&self, seed: u64) -> Recipe {
        let &Self { width, layers, heads, kv_heads, ffn, context: positions, .. } = self;
        let sizes = Sizes { width, layers, heads, kv_heads, ffn, positions };
        let (dtype, system) = (Dtype::F32, SystemMessages::Kept);
        Recipe { sizes, seed: Seed::new(seed).derive("model", 0).get(), dtype, system }
    }
}

fn run(job: &Job<'_>) -> Result<Outcome<StageEnd>, Failure> {
    let options: NewModelOptions = job.options()?;
    if job.dry_run {
        let mut plan = DryRun::of(KIND.command);
        plan.does("trains a tokenizer and draws the weights of a new model");
        return Ok(Outcome::plan(plan));
    }
    job.create_dir()?;
    let out = job.dir().join(MODEL);
    clear_temporaries(&job.dir())?;
    let inputs = [What::Rows, What::Traces, What::Tasks];
    let texts = inputs.into_iter().find_map(|what| job.input(what)).unwrap_or_default();
    let lines = corpus::read(&[texts]).map_err(ModelFailure::from)?;
    let tokenizer = corpus::train(&lines, options.vocab).map_err(ModelFailure::from)?;
    // What a kill left behind has no name of ours; what is there is whole.
    if !out.is_dir() {
        let staged = Staged::begin(&out);
        let device = device::cpu(Some(1))?;
        create(&device, &tokenizer, &options.recipe(job.config.seed), staged.path())
            .map_err(ModelFailure::from)?;
        staged.commit()?;
    }
    #[expect(clippy::cast_precision_loss, reason = "a vocabulary is small")]
    Ok(Outcome::Done(Some(vec![figure("tokens in the vocabulary", tokenizer.size() as f64)])))
}
