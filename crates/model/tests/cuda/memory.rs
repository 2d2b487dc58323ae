//! What is planned for a GPU, beside what it holds afterwards.

use whetstone_core::config::LoraConfig;
use whetstone_kernels::Device;
use whetstone_model::Config;
use whetstone_model::decoder::{Decoder, Forward, Gradients, Keep, Sequence, Signal};
use whetstone_model::memory::{Purpose, Target, Work, plan};

use crate::shapes::heads_of_128;
use crate::support::{Problems, device};

/// Bytes after one forward and backward of a model that was loaded, the optimizer's means aside.
fn held(decoder: &Decoder, work: Work, keep: Keep) -> u64 {
    let device = decoder.device();
    device.trim();
    let mut gradients = Gradients::new(device, decoder.parameters());
    let tokens: Vec<u32> = (0..).map(|at| at * 13 % 64).take(work.length).collect();
    let sequence = Sequence { tokens: &tokens, asked: 1..work.length };
    let batch = decoder.batch(&vec![sequence; work.batch]).unwrap();
    for _ in 0..2 {
        let forward = Forward { keep: Some(keep), ..Forward::default() };
        let (scored, trail) = decoder.forward(&batch, forward);
        let dlogp = vec![1e-3; scored.logp.len()];
        let signal = Signal { dlogp: &dlogp, dentropy: None, dvalue: None };
        decoder.backward(&batch, trail.unwrap(), signal, &mut gradients);
    }
    device.check().unwrap();
    device.held_bytes() as u64
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn training_holds_what_was_planned() {
    if device().is_none() {
        return;
    }
    let lora = LoraConfig { rank: 16, ..LoraConfig::default() };
    let config = Config { vocab: 8192, width: 512, layers: 6, ffn: 1536, ..heads_of_128() };
    let work = Work { batch: 8, length: 400, eight_bit: false, target: Target::Cuda };
    let mut problems = Problems::default();
    for keep in [Keep::Most, Keep::Input] {
        for full in [true, false] {
            // A pool of its own, after what looking for algorithms took is given back.
            let gpu = Device::cuda(0).unwrap();
            let mut decoder = Decoder::new(&gpu, &config, 1, work.length);
            let purpose = if full {
                decoder.train_base(true);
                Purpose::Full(keep)
            } else {
                decoder.freeze_base();
                decoder.add_adapter(&lora, 2);
                Purpose::Lora(&lora, keep)
            };
            held(&decoder, work, keep);
            let (plan, held) = (plan(&config, work, purpose), held(&decoder, work, keep));
            let said = plan.total() - plan.means;
            let off = said as f64 / held as f64 - 1.0;
            println!(
                "{purpose:?}: said {said}, held {held}, off by {:.1} %: {plan:?}",
                off * 100.0
            );
            problems.near(&format!("{purpose:?}"), off.abs(), 0.15);
        }
    }
    problems.none();
}
