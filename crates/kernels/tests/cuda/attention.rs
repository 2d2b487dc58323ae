//! Attention beside the same operation on processors, and its bits: packed, alone, a beginning of a
//! sequence, and row by row to pages.

#![expect(clippy::cast_possible_truncation, reason = "small sizes become u32")]

use whetstone_kernels::attention::{Output, Sequences, Shape, forward};
use whetstone_kernels::paged::{
    Attend, Cache, PAGE, Store, Stored, Tables, attend, copy_page, store,
};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut};

use crate::support::{ROUNDED, close, device, distance, f64s, numbers, same_bits, twice};

/// Numbers between rows.
pub(crate) const GAP: usize = 8;

/// In gaps and in results before they are written; bf16 can hold it.
pub(crate) const POISON: f32 = -12_288.0;

/// Around the sizes of tiles and of blocks of keys, and a sequence without tokens.
pub(crate) const LENGTHS: [usize; 9] = [1, 15, 17, 63, 64, 0, 65, 130, 300];

/// One to eight heads of queries for each head of keys, twelve once, both sizes of heads, and sizes
/// that are none of these.
pub(crate) fn shapes() -> Vec<Shape> {
    let of = |group: usize| {
        let kv_heads = if group < 4 { 2 } else { 1 };
        let shape = Shape { heads: group * kv_heads, kv_heads, size: 64, scale: 0.4 };
        [shape, Shape { size: 128, scale: 0.3, ..shape }]
    };
    let odd = [(1, 8), (2, 16), (3, 40), (1, 72), (2, 96)].map(|(group, size)| Shape {
        heads: 2 * group,
        kv_heads: 2,
        size,
        scale: 0.4,
    });
    (1..=8).chain([12]).flat_map(of).chain(odd).collect()
}

pub(crate) fn offsets(lengths: &[usize]) -> Vec<usize> {
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Rows with a gap after each.
pub(crate) fn apart(x: &[f32], cols: usize) -> Vec<f32> {
    x.chunks(cols).flat_map(|row| [row, &[POISON; GAP]].concat()).collect()
}

/// The rows alone; what lies between them must not have changed.
pub(crate) fn together(x: &[f32], cols: usize) -> Vec<f32> {
    let rows = x.chunks(cols + GAP);
    assert!(rows.clone().all(|row| row[cols..] == [POISON; GAP]), "between rows");
    rows.flat_map(|row| row[..cols].to_vec()).collect()
}

/// `o` and `lse`.
pub(crate) fn ours(
    device: &Device,
    shape: &Shape,
    offsets: &[usize],
    qkv: &[f32],
) -> Vec<Vec<f32>> {
    let (packed, width) = (shape.packed_width(), shape.width());
    let rows = qkv.len() / packed;
    let from = device.upload::<Activation>(&apart(qkv, packed));
    let mut out = device.upload::<Activation>(&apart(&vec![POISON; rows * width], width));
    let mut lse = device.upload::<f32>(&vec![POISON; rows * shape.heads]);
    let whole = MatrixMut::strided(out.view_mut(), rows, width, width + GAP);
    let qkv = Matrix::strided(from.view(), rows, packed, packed + GAP);
    let output = Output { out: whole, lse: lse.view_mut() };
    let sequences = Sequences { shape, offsets };
    forward(device, output, qkv, sequences);
    vec![together(&device.read(out.view()), width), device.read(lse.view())]
}

/// A weight is rounded to bf16, and so is the result: within a hundredth everywhere, and within one
/// rounding over a sequence as a whole.
#[test]
fn a_sequence_is_what_processors_compute() {
    let Some(device) = device() else { return };
    let processors = Device::cpu(2).unwrap();
    let offsets = offsets(&LENGTHS);
    for shape in shapes() {
        let qkv = numbers(1, offsets[LENGTHS.len()] * shape.packed_width());
        let ours_all = twice(device, || ours(device, &shape, &offsets, &qkv));
        let theirs = ours(&processors, &shape, &offsets, &qkv);
        for tokens in offsets.windows(2).filter(|ends| ends[0] < ends[1]) {
            let of = |width: usize| tokens[0] * width..tokens[1] * width;
            let (out, truth) = (&ours_all[0][of(shape.width())], &theirs[0][of(shape.width())]);
            close(out, &f64s(truth), 4.0 * ROUNDED);
            let off = distance(out, truth);
            assert!(off < ROUNDED, "{shape:?} {tokens:?}: {off}");
        }
        for (ours, theirs) in ours_all[1].iter().zip(&theirs[1]) {
            assert!((ours - theirs).abs() < 1.0 / 512.0, "{shape:?}: {ours} and {theirs}");
        }
    }
}

#[test]
fn scores_of_hundreds_do_not_overflow() {
    let Some(device) = device() else { return };
    let shape = Shape { heads: 2, kv_heads: 1, size: 64, scale: 60.0 };
    let qkv = numbers(1, 200 * shape.packed_width());
    let ours_all = twice(device, || ours(device, &shape, &[0, 200], &qkv));
    let theirs = ours(&Device::cpu(1).unwrap(), &shape, &[0, 200], &qkv);
    assert!(theirs[1].iter().any(|lse| *lse > 300.0));
    close(&ours_all[0], &f64s(&theirs[0]), 4.0 * ROUNDED);
    close(&ours_all[1], &f64s(&theirs[1]), 1e-5);
}

/// A token of a sequence.
struct Token {
    sequence: usize,
    place: usize,
}

/// Sequences in a cache, on pages that lie apart and that held NaN.
struct Paged {
    cache: Cache,
    pages: Vec<Vec<u32>>,
    shape: Shape,
}

impl Paged {
    /// Two layers; sequences are in the second.
    fn new(device: &Device, shape: Shape, lengths: &[usize]) -> Self {
        let count: usize = lengths.iter().map(|length| length.div_ceil(PAGE)).sum();
        // A prime that is larger: the pages are taken in another order than they lie.
        let all = (count + 6..2 * count + 99).find(|n| (2..*n).all(|d| n % d != 0)).unwrap();
        let mut free = (0..all).map(|page| (page * 7 % all) as u32);
        let pages = lengths.iter().map(|l| free.by_ref().take(l.div_ceil(PAGE)).collect());
        let pages = pages.collect();
        let mut paged = Self { cache: Cache::new(device, 2, all, shape), pages, shape };
        let slots: Vec<u32> = (0..(all * PAGE) as u32).collect();
        let none = vec![f32::NAN; slots.len() * shape.packed_width()];
        for layer in [0, 1] {
            paged.store(device, layer, &none, &slots);
        }
        paged
    }

    fn slots(&self, sequence: usize, length: usize) -> Vec<u32> {
        let pages = &self.pages[sequence];
        (0..length).map(|t| pages[t / PAGE] * PAGE as u32 + (t % PAGE) as u32).collect()
    }

    fn store(&mut self, device: &Device, layer: usize, rows: &[f32], slots: &[u32]) {
        let packed = self.shape.packed_width();
        let (from, list) = (device.upload(&apart(rows, packed)), device.upload(slots));
        let from = Matrix::strided(from.view(), slots.len(), packed, packed + GAP);
        store(device, Store { cache: &mut self.cache, layer, qkv: from, slots: list.view() });
    }

    /// Every row looks back from its place in its sequence.
    fn look(&self, device: &Device, qkv: &[f32], rows: &[Token]) -> Vec<f32> {
        let (packed, width) = (self.shape.packed_width(), self.shape.width());
        let starts = offsets(&self.pages.iter().map(Vec::len).collect::<Vec<_>>());
        let start: Vec<u32> = rows.iter().map(|token| starts[token.sequence] as u32).collect();
        let length: Vec<u32> = rows.iter().map(|token| token.place as u32 + 1).collect();
        let pages = device.upload(&self.pages.concat());
        let (starts, lengths) = (device.upload(&start), device.upload(&length));
        let tables = Tables {
            pages: pages.view(),
            starts: starts.view(),
            lengths: lengths.view(),
            stored: Stored::Any,
        };
        let from = device.upload::<Activation>(&apart(qkv, packed));
        let poison = apart(&vec![POISON; rows.len() * width], width);
        let mut out = device.upload::<Activation>(&poison);
        let whole = MatrixMut::strided(out.view_mut(), rows.len(), width, width + GAP);
        let qkv = Matrix::strided(from.view(), rows.len(), packed, packed + GAP);
        attend(device, Attend { out: whole, cache: &self.cache, layer: 1, qkv, tables });
        together(&device.read(out.view()), width)
    }
}

fn training_is_prefill_is_paged(device: &Device, shape: Shape, lengths: &[usize]) {
    let offsets = offsets(lengths);
    let (packed, width) = (shape.packed_width(), shape.width());
    let qkv = numbers(1, offsets[lengths.len()] * packed);
    let training = twice(device, || ours(device, &shape, &offsets, &qkv));
    let mut paged = Paged::new(device, shape, lengths);
    let mut rows = Vec::new();
    for (sequence, &length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
        let tokens = |width: usize| offsets[sequence] * width..offsets[sequence + 1] * width;
        let own = &qkv[tokens(packed)];
        for prefix in [length, length.div_ceil(2), 1] {
            let alone = ours(device, &shape, &[0, prefix], &own[..prefix * packed]);
            same_bits(&alone[0], &training[0][tokens(width)][..prefix * width]);
            same_bits(&alone[1], &training[1][tokens(shape.heads)][..prefix * shape.heads]);
        }
        let slots = paged.slots(sequence, length);
        paged.store(device, 1, own, &slots);
        rows.extend((0..length).map(|place| Token { sequence, place }));
    }
    same_bits(&paged.look(device, &qkv, &rows), &training[0]);
    for at in [0, rows.len() / 2, rows.len() - 1] {
        let one = paged.look(device, &qkv[at * packed..(at + 1) * packed], &rows[at..=at]);
        same_bits(&one, &training[0][at * width..(at + 1) * width]);
    }
    device.check().unwrap();
}

#[test]
fn training_prefill_and_pages_have_the_same_bits() {
    let Some(device) = device() else { return };
    for shape in shapes() {
        training_is_prefill_is_paged(device, shape, &LENGTHS);
    }
}

#[test]
fn a_long_context_has_the_same_bits_everywhere() {
    let Some(device) = device() else { return };
    for size in [64, 128] {
        let shape = Shape { heads: 2, kv_heads: 1, size, scale: 0.25 };
        training_is_prefill_is_paged(device, shape, &[4200, 33]);
    }
}

#[test]
fn a_copied_page_is_another_sequences_own() {
    let Some(device) = device() else { return };
    let shape = Shape { heads: 4, kv_heads: 2, size: 64, scale: 0.3 };
    let packed = shape.packed_width();
    let (common, first, second) =
        (numbers(1, 20 * packed), numbers(2, 2 * packed), numbers(3, packed));
    let mut paged = Paged::new(device, shape, &[22, 21]);
    let slots = paged.slots(0, 22);
    paged.store(device, 1, &common, &slots[..20]);
    // The second sequence shares the first page and goes its own way in a copy of the second.
    let (from, to) = (paged.pages[0][1], paged.pages[1][1]);
    paged.pages[1][0] = paged.pages[0][0];
    copy_page(&mut paged.cache, from as usize, to as usize);
    paged.store(device, 1, &first, &slots[20..]);
    let slots = paged.slots(1, 21);
    paged.store(device, 1, &second, &slots[20..]);
    for (sequence, rest) in [(0, &first), (1, &second)] {
        let all = [&common[..], rest].concat();
        let tokens = all.len() / packed;
        let truth = ours(device, &shape, &[0, tokens], &all);
        let last = paged.look(
            device,
            &all[all.len() - packed..],
            &[Token { sequence, place: tokens - 1 }],
        );
        same_bits(&last, &truth[0][(tokens - 1) * shape.width()..]);
    }
    device.check().unwrap();
}

#[test]
fn heads_without_a_kernel_are_a_failure_that_says_so() {
    if device().is_none() {
        return;
    }
    let own = Device::cuda(0).unwrap();
    let shape = Shape { heads: 2, kv_heads: 2, size: 84, scale: 0.3 };
    let (qkv, mut out) = (own.zeros::<Activation>(3 * 504), own.zeros::<Activation>(3 * 168));
    let mut lse = own.zeros::<f32>(6);
    let to = MatrixMut::new(out.view_mut(), 3, 168);
    let output = Output { out: to, lse: lse.view_mut() };
    let sequences = Sequences { shape: &shape, offsets: &[0, 3] };
    forward(&own, output, Matrix::new(qkv.view(), 3, 504), sequences);
    assert!(own.check().unwrap_err().to_string().contains("multiples of 8"));
}
