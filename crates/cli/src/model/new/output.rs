//! The description of a new model.

use serde::Serialize;
use whetstone_model::Config;
use whetstone_model::create::corpus::Lengths;
use whetstone_model::describe::{self, Parameters};
use whetstone_model::weights::Dtype;

use super::args::NewArgs;
use crate::model::table::{grouped, mebibytes};

/// The description of a new model.
#[derive(Debug, Serialize)]
pub(super) struct NewModelOutput {
    v: u32,
    model: String,
    parameters: usize,
    /// Those beside the embedding.
    without_embedding: usize,
    /// Of the weights.
    bytes: usize,
    dtype: &'static str,
    vocabulary: usize,
    context: usize,
    eos: Vec<u32>,
    corpus: CorpusInfo,
}

/// The description of its corpus.
#[derive(Debug, Serialize)]
pub(super) struct CorpusInfo {
    lines: usize,
    bytes: usize,
    tokens: usize,
    mean_tokens: f64,
    longest_tokens: usize,
}

impl CorpusInfo {
    pub(super) fn new(lines: usize, lengths: Lengths) -> Self {
        let Lengths { bytes, tokens, longest_tokens } = lengths;
        Self { lines, bytes, tokens, mean_tokens: mean(tokens, lines), longest_tokens }
    }
}

impl NewModelOutput {
    pub(super) fn new(args: &NewArgs, config: &Config, corpus: CorpusInfo) -> Self {
        // Its head is its embedding.
        let Parameters { total: parameters, without_embedding, .. } = describe::parameters(config);
        Self {
            v: 1,
            model: args.dir.display().to_string(),
            parameters,
            without_embedding,
            bytes: parameters * if config.dtype == Dtype::F32 { 4 } else { 2 },
            dtype: config.dtype.name(),
            vocabulary: config.vocab,
            context: config.positions,
            eos: config.eos.clone(),
            corpus,
        }
    }

    /// As a person reads it.
    pub(super) fn text(&self) -> String {
        let CorpusInfo { lines, mean_tokens, longest_tokens, bytes, tokens } = &self.corpus;
        let bytes_each = mean(*bytes, *tokens);
        let size = mebibytes(self.bytes as u64);
        let facts = [
            (
                "parameters",
                format!(
                    "{}, of which {} beside the embedding",
                    grouped(self.parameters),
                    grouped(self.without_embedding)
                ),
            ),
            ("weights", format!("{} bytes ({size} MiB), {}", grouped(self.bytes), self.dtype)),
            ("vocabulary", format!("{}, {bytes_each:.2} bytes a token", self.vocabulary)),
            ("context", self.context.to_string()),
            (
                "corpus",
                format!(
                    "{}: {mean_tokens:.1} tokens a line, {longest_tokens} the longest",
                    whetstone_recipe::text::counted(*lines, "line")
                ),
            ),
        ];
        let rows = facts.iter().map(|(name, value)| format!("  {name:<14} {value}\n"));
        format!("{}\n{}", self.model, rows.collect::<String>())
    }
}

/// `sum / count`.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn mean(sum: usize, count: usize) -> f64 {
    sum as f64 / count.max(1) as f64
}
