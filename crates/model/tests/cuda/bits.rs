//! Bits that may not depend on who goes through together, on what is kept, or on the run.

use whetstone_model::decoder::{Adapters, DecodeStep, Decoder, Forward, Keep, Prefill, Sequence};

use crate::shapes::{heads_of_64, heads_of_128, random};
use crate::support::{Back, FAMILIES, Golden, Problems, Trained, both_ways, device, model};

/// Every number's bits.
fn bits(numbers: Vec<f32>) -> Vec<u32> {
    numbers.into_iter().map(f32::to_bits).collect()
}

/// Tokens of several sequences, some shorter than a tile and some longer.
fn sequences(vocab: u32) -> Vec<Vec<u32>> {
    let of =
        |(at, length): (u32, u32)| (0..length).map(|n| (n * 31 + at * 17 + 5) % vocab).collect();
    (0..).zip([3, 70, 16, 100, 1, 33]).map(of).collect()
}

fn asked(tokens: &[Vec<u32>]) -> Vec<Sequence<'_>> {
    tokens.iter().map(|tokens| Sequence { tokens, asked: 1..tokens.len() }).collect()
}

/// All at once, one by one, in two batches, and once more; with what is dear kept and without.
fn check_packing(what: &str, decoder: &Decoder, problems: &mut Problems) {
    let vocab = u32::try_from(decoder.config().vocab).unwrap();
    let tokens: Vec<Vec<u32>> =
        sequences(vocab).into_iter().filter(|tokens| tokens.len() > 1).collect();
    let all = asked(&tokens);
    let count: usize = all.iter().map(|sequence| sequence.asked.len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let dlogp: Vec<f32> = (0..count).map(|at| ((at * 37 % 101) as f32 - 50.0) / 64.0).collect();
    let dentropy: Vec<f32> = dlogp.iter().map(|x| x * 0.125).collect();
    for dentropy in [None, Some(dentropy.as_slice())] {
        let back = Back { dlogp: &dlogp, dentropy };
        let of = |batches: &[&[Sequence<'_>]], keep| both_ways(decoder, batches, keep, back).bits();
        let whole = of(&[&all], Keep::Most);
        let alone: Vec<&[Sequence<'_>]> = all.chunks(1).collect();
        problems.same(&format!("{what}, one by one"), &of(&alone, Keep::Most), &whole);
        let two: Vec<&[Sequence<'_>]> = all.chunks(3).collect();
        problems.same(&format!("{what}, in two"), &of(&two, Keep::Most), &whole);
        problems.same(&format!("{what}, again"), &of(&[&all], Keep::Most), &whole);
        problems.same(&format!("{what}, computed again"), &of(&[&all], Keep::Input), &whole);
    }
}

#[test]
fn gradients_have_the_same_bits_for_any_packing() {
    let Some(device) = device() else { return };
    let mut problems = Problems::default();
    for (family, trained) in
        FAMILIES.iter().flat_map(|family| [(family, Trained::Whole), (family, Trained::Adapter)])
    {
        let decoder = model(device, family, trained);
        check_packing(&format!("{family} {trained:?}"), &decoder, &mut problems);
    }
    for (name, config) in [("64", heads_of_64()), ("128", heads_of_128())] {
        for trained in [Trained::Whole, Trained::Adapter] {
            let decoder = random(device, &config, trained);
            check_packing(&format!("heads of {name} {trained:?}"), &decoder, &mut problems);
        }
    }
    problems.none();
}

/// Logits of the last token: of a whole prompt, among others, token by token, alone and side by side.
fn check_rows(what: &str, decoder: &Decoder, problems: &mut Problems) {
    let device = decoder.device();
    let vocab = u32::try_from(decoder.config().vocab).unwrap();
    let tokens = sequences(vocab);
    let pages_of = |at: usize| (0..9).map(|page| u32::try_from(at * 9 + page).unwrap()).collect();
    let pages: Vec<Vec<u32>> = (0..tokens.len()).map(pages_of).collect();
    let both = tokens.iter().zip(&pages);
    let prompts: Vec<Prefill<'_>> = both.map(|(tokens, pages)| Prefill { tokens, pages }).collect();
    let together = {
        let mut cache = decoder.cache(9 * tokens.len());
        bits(device.read(decoder.prefill(&mut cache, &prompts).view()))
    };
    let mut cache = decoder.cache(9 * tokens.len());
    let mut alone = Vec::new();
    for prompt in &prompts {
        let one = std::slice::from_ref(prompt);
        alone.extend(bits(device.read(decoder.prefill(&mut cache, one).view())));
    }
    problems.same(&format!("{what}, prompts alone"), &alone, &together);
    let step_of = |rows: &[usize]| {
        let mut step = DecodeStep::default();
        for &row in rows {
            step.add(7, tokens[row].len(), &pages[row]);
        }
        step
    };
    let all: Vec<usize> = (0..tokens.len()).collect();
    let side = bits(device.read(decoder.step(&mut cache, &step_of(&all)).view()));
    let mut alone = Vec::new();
    for row in all {
        alone.extend(bits(device.read(decoder.step(&mut cache, &step_of(&[row])).view())));
    }
    problems.same(&format!("{what}, rows alone"), &alone, &side);
    // The hundred tokens of a sequence one by one: its last row is that of the whole prompt.
    let long = 3;
    let mut last = Vec::new();
    for (position, &token) in tokens[long].iter().enumerate() {
        let mut step = DecodeStep::default();
        step.add(token, position, &pages[long]);
        last = bits(device.read(decoder.step(&mut cache, &step).view()));
    }
    let vocab = decoder.config().vocab;
    let whole = &together[long * vocab..(long + 1) * vocab];
    problems.same(&format!("{what}, token by token"), &last, whole);
    device.check().unwrap();
}

#[test]
fn a_row_of_decoding_has_the_same_bits_alone_among_others_and_in_a_prompt() {
    let Some(device) = device() else { return };
    let mut problems = Problems::default();
    for (name, config) in [("64", heads_of_64()), ("128", heads_of_128())] {
        let decoder = random(device, &config, Trained::Adapter);
        check_rows(&format!("heads of {name}"), &decoder, &mut problems);
    }
    problems.none();
}

#[test]
fn with_the_adapter_off_a_model_is_its_own_reference_bit_for_bit() {
    let Some(device) = device() else { return };
    let mut problems = Problems::default();
    for family in FAMILIES {
        let tokens = Golden::open(family).tokens();
        let plain = model(device, family, Trained::Whole);
        let adapted = model(device, family, Trained::Adapter);
        let score = |decoder: &Decoder, adapters| {
            let sequence = Sequence { tokens: &tokens[1], asked: 1..tokens[1].len() };
            let batch = decoder.batch(&[sequence]).unwrap();
            bits(decoder.forward(&batch, Forward { adapters, ..Forward::default() }).0.logp)
        };
        let (off, own) = (score(&adapted, Adapters::Off), score(&plain, Adapters::On));
        problems.same(family, &off, &own);
        assert_ne!(score(&adapted, Adapters::On), own, "the adapter does something");
    }
    device.check().unwrap();
    problems.none();
}
