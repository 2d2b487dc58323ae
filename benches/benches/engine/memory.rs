//! What `whet model info` says that a model takes, beside what a process took that did it.
//!
//! The process is this one, its peak that of all it did; so each purpose has a process of its own.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::{Value, json};
use whetstone_core::config::LoraConfig;
use whetstone_infer::{Generator, Limits, Local};
use whetstone_kernels::Device;
use whetstone_model::decoder::{Decoder, Keep, LoadOptions, WeightFormat};
use whetstone_model::memory::{Purpose, Target, Work, plan};

use crate::decode::prompts;
use crate::shapes::rounded;
use crate::train::{BatchShape, Training};
use crate::{mebibytes, peak_mib};

/// Sequences and their length for each purpose.
const SAMPLED: (usize, usize) = (8, 256);
const LORA: (usize, usize) = (4, 256);
const FULL: (usize, usize) = (1, 256);

/// Does what `purpose` names with the model at `path`.
pub(crate) fn measure(
    device: &Device,
    purpose: &str,
    path: &Path,
) -> Result<Value, Box<dyn Error>> {
    let model = whetstone_model::open(path)?;
    let lora = LoraConfig::default();
    let ((batch, length), planned) = match purpose {
        "memory-sample" => (SAMPLED, Purpose::Inference),
        "memory-lora" => (LORA, Purpose::Lora(&lora, Keep::Most)),
        "memory-full" => (FULL, Purpose::Full(Keep::Most)),
        _ => return Err("memory-sample, memory-lora or memory-full".into()),
    };
    let before = peak_mib()?;
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: length + 1 };
    let decoder = Decoder::load(device, &model.config, model.weights.as_ref(), options)?;
    if let Purpose::Inference = planned {
        let prompts = prompts(&model.config, batch, length - 32, 32);
        let mut local = Local::new(&decoder, &model.tokenizer, Limits::default());
        local.generate(&prompts, &mut |_| ControlFlow::Continue(()))?;
    } else {
        let adapter = matches!(planned, Purpose::Lora(..)).then_some(&lora);
        let mut training = Training::new(decoder, adapter);
        // A step asks about one token less than a sequence has.
        training.step(BatchShape { batch, length: length - 1 });
        training.step(BatchShape { batch, length: length - 1 });
    }
    let peak = peak_mib()?;
    let said =
        plan(&model.config, Work { batch, length, eight_bit: false, target: Target::Cpu }, planned);
    let total = mebibytes(said.total());
    Ok(json!({
        "batch": batch,
        "length": length,
        "said_mib": rounded(total),
        "peak_mib": peak,
        "off_percent": rounded((total / peak - 1.0) * 100.0),
        "opened_mib": before,
        "held_mib": rounded(mebibytes(device.held_bytes() as u64)),
    }))
}
