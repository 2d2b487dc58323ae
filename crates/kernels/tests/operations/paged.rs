//! Attention to pages beside plain attention to the same tokens.

use whetstone_kernels::attention::Shape;
use whetstone_kernels::paged::{
    Attend, Cache, PAGE, Store, Stored, Tables, attend, copy_page, store,
};
use whetstone_kernels::{Device, Matrix, MatrixMut};

use crate::oracle::attention::attention;
use crate::support::{Layout, close, f64s, numbers, same_bits};

/// Heads narrower and wider than what is summed at a time, some no multiple of four.
const SHAPES: [Shape; 4] = [
    Shape { heads: 4, kv_heads: 2, size: 64, scale: 0.2 },
    Shape { heads: 2, kv_heads: 2, size: 6, scale: 1.3 },
    Shape { heads: 3, kv_heads: 1, size: 80, scale: 0.3 },
    Shape { heads: 2, kv_heads: 1, size: 128, scale: 0.1 },
];

/// A sequence: its tokens' rows and its pages.
struct Sequence {
    rows: Vec<f32>,
    pages: Vec<u32>,
}

impl Sequence {
    fn slots(&self, tokens: usize) -> Vec<u32> {
        let slot = |token: usize| self.pages[token / PAGE] * PAGE as u32 + (token % PAGE) as u32;
        (0..tokens).map(slot).collect()
    }
}

/// Rows of queries, keys and values, and where they go.
#[derive(Clone, Copy)]
struct Tokens<'a> {
    rows: &'a [f32],
    slots: &'a [u32],
}

/// Puts all tokens of a sequence into a layer.
fn put(device: &Device, cache: &mut Cache, layer: usize, tokens: Tokens<'_>) {
    let Tokens { rows, slots } = tokens;
    let layout = Layout {
        rows: slots.len(),
        cols: rows.len() / slots.len(),
        stride: rows.len() / slots.len() + 3,
    };
    let (rows, slots) = (device.upload(&layout.apart(rows)), device.upload(slots));
    let rows = Matrix::strided(rows.view(), layout.rows, layout.cols, layout.stride);
    store(device, Store { cache, layer, qkv: rows, slots: slots.view() });
}

/// A layer of a cache.
#[derive(Clone, Copy)]
struct Layer<'a> {
    cache: &'a Cache,
    layer: usize,
}

/// The last token of each sequence looks back.
fn look(device: &Device, at: Layer<'_>, shape: &Shape, sequences: &[Sequence]) -> Vec<f32> {
    let Layer { cache, layer } = at;
    let packed = shape.packed_width();
    let last: Vec<f32> =
        sequences.iter().flat_map(|s| s.rows[s.rows.len() - packed..].to_vec()).collect();
    let from = Layout { rows: sequences.len(), cols: packed, stride: packed + 1 };
    let to = Layout { rows: sequences.len(), cols: shape.width(), stride: shape.width() + 5 };
    let pages: Vec<u32> = sequences.iter().flat_map(|s| s.pages.clone()).collect();
    let starts: Vec<u32> = sequences
        .iter()
        .scan(0, |start, s| Some(std::mem::replace(start, *start + s.pages.len() as u32)))
        .collect();
    let lengths: Vec<u32> = sequences.iter().map(|s| (s.rows.len() / packed) as u32).collect();
    let (pages, starts, lengths) =
        (device.upload(&pages), device.upload(&starts), device.upload(&lengths));
    let (qkv, mut out) = (device.upload(&from.apart(&last)), device.upload(&to.nothing()));
    let tables = Tables {
        pages: pages.view(),
        starts: starts.view(),
        lengths: lengths.view(),
        stored: Stored::Any,
    };
    let qkv = Matrix::strided(qkv.view(), from.rows, from.cols, from.stride);
    let whole = MatrixMut::strided(out.view_mut(), to.rows, to.cols, to.stride);
    attend(device, Attend { out: whole, cache, layer, qkv, tables });
    to.together(&device.read(out.view()))
}

/// What plain attention gives the last token of each.
fn truth(shape: &Shape, sequences: &[Sequence]) -> Vec<f64> {
    let last = |s: &Sequence| {
        let (out, _) = attention(&f64s(&s.rows), shape);
        out[out.len() - shape.width()..].to_vec()
    };
    sequences.iter().flat_map(last).collect()
}

/// Sequences that end before, at and behind the end of a page, on pages that lie apart.
fn sequences(shape: &Shape) -> Vec<Sequence> {
    let mut free = (0..23u32).map(|page| page * 7 % 23);
    let sequence = |(at, tokens): (usize, usize)| Sequence {
        rows: numbers(at as u64 + 1, tokens * shape.packed_width()),
        pages: free.by_ref().take(tokens.div_ceil(PAGE)).collect(),
    };
    [1, 15, 16, 17, 40, 130].into_iter().enumerate().map(sequence).collect()
}

#[test]
fn pages_are_only_another_place_for_the_same_tokens() {
    for shape in SHAPES {
        let sequences = sequences(&shape);
        let ours = same_bits(|device| {
            let mut cache = Cache::new(device, 2, 23, shape);
            assert_eq!(cache.pages(), 23);
            let everywhere: Vec<u32> = (0..23 * PAGE as u32).collect();
            let none = vec![f32::NAN; everywhere.len() * shape.packed_width()];
            // What earlier users of the pages left behind, in this layer and in the other, is no
            // number: it must not be looked at.
            for layer in [0, 1] {
                put(device, &mut cache, layer, Tokens { rows: &none, slots: &everywhere });
            }
            for s in &sequences {
                let tokens = s.rows.len() / shape.packed_width();
                put(device, &mut cache, 1, Tokens { rows: &s.rows, slots: &s.slots(tokens) });
            }
            vec![look(device, Layer { cache: &cache, layer: 1 }, &shape, &sequences)]
        });
        close(&ours[0], &truth(&shape, &sequences), 1e-5);
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_among_others() {
    let shape = SHAPES[0];
    let device = Device::cpu(2).unwrap();
    let mut cache = Cache::new(&device, 1, 23, shape);
    let sequences = sequences(&shape);
    for s in &sequences {
        let tokens = s.rows.len() / shape.packed_width();
        put(&device, &mut cache, 0, Tokens { rows: &s.rows, slots: &s.slots(tokens) });
    }
    let all = look(&device, Layer { cache: &cache, layer: 0 }, &shape, &sequences);
    for (at, all) in all.chunks(shape.width()).enumerate() {
        let alone = look(&device, Layer { cache: &cache, layer: 0 }, &shape, &sequences[at..=at]);
        assert!(all.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits()), "row {at}");
    }
}

#[test]
fn two_sequences_share_a_page_and_part_ways_in_the_next() {
    let shape = SHAPES[1];
    let packed = shape.packed_width();
    let (common, first, second) =
        (numbers(1, 20 * packed), numbers(2, 2 * packed), numbers(3, packed));
    let forks = [
        Sequence { rows: [common.clone(), first.clone()].concat(), pages: vec![3, 1] },
        Sequence { rows: [common.clone(), second.clone()].concat(), pages: vec![3, 2] },
    ];
    let ours = same_bits(|device| {
        let mut cache = Cache::new(device, 2, 4, shape);
        for layer in [0, 1] {
            put(device, &mut cache, layer, Tokens { rows: &common, slots: &forks[0].slots(20) });
        }
        copy_page(&mut cache, 1, 2);
        let looks = [0, 1].map(|layer| {
            put(
                device,
                &mut cache,
                layer,
                Tokens { rows: &first, slots: &forks[0].slots(22)[20..] },
            );
            put(
                device,
                &mut cache,
                layer,
                Tokens { rows: &second, slots: &forks[1].slots(21)[20..] },
            );
            look(device, Layer { cache: &cache, layer }, &shape, &forks)
        });
        looks.to_vec()
    });
    for layer in ours {
        close(&layer, &truth(&shape, &forks), 1e-5);
    }
}

#[test]
#[should_panic(expected = "a slot of the cache")]
fn a_slot_behind_the_last_page_of_a_layer_is_refused() {
    let device = Device::cpu(1).unwrap();
    let mut cache = Cache::new(&device, 2, 1, SHAPES[1]);
    put(
        &device,
        &mut cache,
        0,
        Tokens { rows: &numbers(1, SHAPES[1].packed_width()), slots: &[16] },
    );
}

#[test]
#[should_panic(expected = "a page of the cache")]
fn a_page_of_another_layer_is_refused() {
    let device = Device::cpu(1).unwrap();
    let cache = Cache::new(&device, 2, 1, SHAPES[1]);
    let sequence = Sequence { rows: numbers(1, SHAPES[1].packed_width()), pages: vec![1] };
    look(&device, Layer { cache: &cache, layer: 0 }, &SHAPES[1], &[sequence]);
}
