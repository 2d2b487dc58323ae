//! Arguments and help of `whet model new`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use whetstone_model::create::SystemMessages;
use whetstone_model::weights::Dtype;
use whetstone_recipe::new_model::{NewModelRequest, NewModelSizes};

/// The sizes unless others are given.
const DEFAULT: NewModelSizes = NewModelSizes::DEFAULT;

/// `whet model new`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct NewArgs {
    /// Output: a directory that does not exist yet
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,

    /// Texts to learn the tokens from: traces, tasks, any JSON lines, or plain text
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub corpus: Vec<PathBuf>,

    /// Maximal size of the vocabulary; smaller if the corpus has no more pairs that occur twice
    #[arg(long, value_name = "N", default_value_t = DEFAULT.vocab, value_parser = clap::value_parser!(u32).range(NewModelSizes::VOCAB))]
    pub vocab: u32,

    /// Numbers in a hidden state; a multiple of the heads
    #[arg(long, value_name = "N", default_value_t = DEFAULT.width, value_parser = clap::value_parser!(u32).range(NewModelSizes::WIDTH))]
    pub width: u32,

    /// Decoder layers
    #[arg(long, value_name = "N", default_value_t = DEFAULT.layers, value_parser = clap::value_parser!(u32).range(NewModelSizes::LAYERS))]
    pub layers: u32,

    /// Query heads
    #[arg(long, value_name = "N", default_value_t = DEFAULT.heads, value_parser = clap::value_parser!(u32).range(NewModelSizes::LAYERS))]
    pub heads: u32,

    /// Key and value heads; the query heads share them evenly
    #[arg(long, value_name = "N", default_value_t = DEFAULT.kv_heads, value_parser = clap::value_parser!(u32).range(NewModelSizes::LAYERS))]
    pub kv_heads: u32,

    /// Numbers inside the network of a layer
    #[arg(long, value_name = "N", default_value_t = DEFAULT.ffn, value_parser = clap::value_parser!(u32).range(NewModelSizes::FFN))]
    pub ffn: u32,

    /// Tokens of prompt and completion together at most
    #[arg(long, value_name = "N", default_value_t = DEFAULT.context, value_parser = clap::value_parser!(u32).range(NewModelSizes::CONTEXT))]
    pub context: u32,

    /// Seed of the weights
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Type of the stored weights
    #[arg(long, value_enum, value_name = "TYPE", default_value_t = DtypeArg::Bf16)]
    pub dtype: DtypeArg,

    /// Let the chat template leave out system messages, which keeps prompts short
    #[arg(long)]
    pub drop_system: bool,

    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Type of the stored weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DtypeArg {
    /// Two bytes a number
    Bf16,
    /// Four bytes a number
    F32,
}

impl From<DtypeArg> for Dtype {
    fn from(dtype: DtypeArg) -> Self {
        match dtype {
            DtypeArg::Bf16 => Self::Bf16,
            DtypeArg::F32 => Self::F32,
        }
    }
}

impl NewArgs {
    /// The model to make.
    pub(super) fn request(&self) -> NewModelRequest<'_> {
        let sizes = NewModelSizes {
            vocab: self.vocab,
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.kv_heads,
            ffn: self.ffn,
            context: self.context,
        };
        NewModelRequest {
            corpus: &self.corpus,
            sizes,
            seed: self.seed,
            dtype: self.dtype.into(),
            system: if self.drop_system { SystemMessages::Dropped } else { SystemMessages::Kept },
            out: &self.dir,
        }
    }
}

const AFTER_HELP: &str = "\
A corpus is JSON lines, unless its name ends in .txt, .md or .py. Of a trace, the prompt and the
response as it is trained on are read; of any other object, every text in it. Every byte is a token,
so the model can read and say whatever it was not trained on. A newline with the blanks behind it is
one token, and so are <think>, </think> and the fences of code; a number is as many as it has digits.

Mean and longest tokens of a line tell which context you need: a chat adds about ten.

Examples:
  whet data prepare --embedded 4000
  whet teach --teacher embedded
  whet model new models/mine --corpus data/teacher_traces.jsonl --vocab 1024 --drop-system
  whet model info models/mine
  whet generate models/mine 'Write fizzbuzz.' --chat --max-tokens 40

Exit codes: 0 done, 2 wrong usage or corpus, 3 something broke.";
