//! Attention's gradient beside the same operation on processors, and its bits.

use whetstone_kernels::attention::{Output, Packed, Saved, Sequences, Shape, backward, forward};
use whetstone_kernels::{Activation, Device, Matrix, MatrixMut};

use crate::attention::{GAP, LENGTHS, POISON, apart, offsets, ours, shapes, together};
use crate::support::{device, distance, numbers, same_bits, twice};

/// What went forward and the gradient of what came out.
struct Case {
    shape: Shape,
    qkv: Vec<f32>,
    dout: Vec<f32>,
}

impl Case {
    fn new(shape: Shape, rows: usize) -> Self {
        let qkv = numbers(1, rows * shape.packed_width());
        Self { shape, qkv, dout: numbers(2, rows * shape.width()) }
    }

    /// `dqkv`, by way of the device's own way forward.
    fn run(&self, device: &Device, offsets: &[usize]) -> Vec<f32> {
        let (packed, width) = (self.shape.packed_width(), self.shape.width());
        let rows = self.qkv.len() / packed;
        let forward = ours(device, &self.shape, offsets, &self.qkv);
        let upload = |x: &[f32], cols: usize| device.upload::<Activation>(&apart(x, cols));
        let (qkv, out) = (upload(&self.qkv, packed), upload(&forward[0], width));
        let dout = upload(&self.dout, width);
        let lse = device.upload::<f32>(&forward[1]);
        let mut dqkv = upload(&vec![POISON; rows * packed], packed);
        let rows_of = |cols: usize| (rows, cols, cols + GAP);
        let of = |view, (rows, cols, stride)| Matrix::strided(view, rows, cols, stride);
        let saved = Saved {
            packed: of(qkv.view(), rows_of(packed)).into(),
            out: of(out.view(), rows_of(width)),
            dout: of(dout.view(), rows_of(width)),
            lse: lse.view(),
        };
        let to = MatrixMut::strided(dqkv.view_mut(), rows, packed, packed + GAP);
        backward(device, to, saved, Sequences { shape: &self.shape, offsets });
        together(&device.read(dqkv.view()), packed)
    }

    /// `o`, `lse` and `dqkv` where values lie behind the keys, or in rows that have nothing else to read.
    fn with_values(&self, device: &Device, offsets: &[usize], elsewhere: bool) -> Vec<Vec<f32>> {
        let (packed, width) = (self.shape.packed_width(), self.shape.width());
        let rows = self.qkv.len() / packed;
        let first = packed - self.shape.kv_heads * self.shape.size;
        let split = |row: &[f32], own: std::ops::Range<usize>| -> Vec<f32> {
            row.iter()
                .enumerate()
                .map(|(at, x)| if own.contains(&at) { *x } else { POISON })
                .collect()
        };
        let upload = |x: &[f32], cols: usize| device.upload::<Activation>(&apart(x, cols));
        let whole = upload(&self.qkv, packed);
        let rotated: Vec<f32> =
            self.qkv.chunks(packed).flat_map(|row| row[..first].to_vec()).collect();
        let rotated = device.upload::<Activation>(&rotated);
        let values: Vec<f32> =
            self.qkv.chunks(packed).flat_map(|row| split(row, first..packed)).collect();
        let values = upload(&values, packed);
        let of = |view| Matrix::strided(view, rows, packed, packed + GAP);
        let input = if elsewhere {
            let qkv = Matrix::new(rotated.view(), rows, first);
            Packed { qkv, values: Some(of(values.view())) }
        } else {
            of(whole.view()).into()
        };
        let mut out = upload(&vec![POISON; rows * width], width);
        let mut lse = device.upload::<f32>(&vec![POISON; rows * self.shape.heads]);
        let sequences = Sequences { shape: &self.shape, offsets };
        let to = MatrixMut::strided(out.view_mut(), rows, width, width + GAP);
        forward(device, Output { out: to, lse: lse.view_mut() }, input, sequences);
        let dout = upload(&self.dout, width);
        let mut dqkv = upload(&vec![POISON; rows * packed], packed);
        let saved = Saved {
            packed: input,
            out: Matrix::strided(out.view(), rows, width, width + GAP),
            dout: Matrix::strided(dout.view(), rows, width, width + GAP),
            lse: lse.view(),
        };
        let to = MatrixMut::strided(dqkv.view_mut(), rows, packed, packed + GAP);
        backward(device, to, saved, sequences);
        let out = together(&device.read(out.view()), width);
        vec![out, device.read(lse.view()), together(&device.read(dqkv.view()), packed)]
    }

    fn part(&self, rows: std::ops::Range<usize>) -> Self {
        let (packed, width) = (self.shape.packed_width(), self.shape.width());
        Self {
            shape: self.shape,
            qkv: self.qkv[rows.start * packed..rows.end * packed].to_vec(),
            dout: self.dout[rows.start * width..rows.end * width].to_vec(),
        }
    }
}

/// The gradients of queries, keys and values by themselves.
fn parts(x: &[f32], shape: &Shape) -> [Vec<f32>; 3] {
    let ends = [0, shape.heads, shape.heads + shape.kv_heads, shape.heads + 2 * shape.kv_heads]
        .map(|head| head * shape.size);
    [0, 1, 2].map(|part| {
        let rows = x.chunks(shape.packed_width());
        rows.flat_map(|row| row[ends[part]..ends[part + 1]].to_vec()).collect()
    })
}

/// Weights, their gradients and results are rounded to bf16: within a hundredth as a whole, and
/// within two for a short sequence.
#[test]
fn gradients_are_what_processors_compute() {
    let Some(device) = device() else { return };
    let processors = Device::cpu(2).unwrap();
    let offsets = offsets(&LENGTHS);
    let mut wrong = Vec::new();
    for shape in shapes() {
        let case = Case::new(shape, offsets[LENGTHS.len()]);
        let ours = twice(device, || vec![case.run(device, &offsets)]).remove(0);
        let theirs = case.run(&processors, &offsets);
        let all = parts(&ours, &shape).into_iter().zip(parts(&theirs, &shape));
        for ((ours, theirs), name) in all.zip(["dq", "dk", "dv"]) {
            let off = distance(&ours, &theirs);
            if off.is_nan() || off > 1e-2 {
                wrong.push(format!("{name} of {shape:?}: {off}"));
            }
        }
        for ends in offsets.windows(2).filter(|ends| ends[0] < ends[1]) {
            let of = ends[0] * shape.packed_width()..ends[1] * shape.packed_width();
            let off = distance(&ours[of.clone()], &theirs[of]);
            if off.is_nan() || off > 2e-2 {
                wrong.push(format!("tokens {ends:?} of {shape:?}: {off}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_that_lie_elsewhere_have_the_same_bits() {
    let Some(device) = device() else { return };
    let offsets = offsets(&LENGTHS);
    for shape in shapes() {
        let case = Case::new(shape, offsets[LENGTHS.len()]);
        let behind = twice(device, || case.with_values(device, &offsets, false));
        let elsewhere = twice(device, || case.with_values(device, &offsets, true));
        for (ours, theirs) in elsewhere.iter().zip(&behind) {
            same_bits(ours, theirs);
        }
    }
}

#[test]
fn a_sequences_gradients_do_not_depend_on_its_neighbours() {
    let Some(device) = device() else { return };
    let offsets = offsets(&LENGTHS);
    for shape in shapes() {
        let case = Case::new(shape, offsets[LENGTHS.len()]);
        let packed = case.run(device, &offsets);
        for ends in offsets.windows(2).filter(|ends| ends[0] < ends[1]) {
            let alone = case.part(ends[0]..ends[1]).run(device, &[0, ends[1] - ends[0]]);
            let of = ends[0] * shape.packed_width()..ends[1] * shape.packed_width();
            same_bits(&alone, &packed[of]);
        }
    }
    device.check().unwrap();
}

/// NaN in one sequence stays in it.
#[test]
fn a_sequence_without_numbers_spoils_no_other() {
    let Some(device) = device() else { return };
    for size in [64, 128] {
        let shape = Shape { heads: 2, kv_heads: 1, size, scale: 0.3 };
        let mut case = Case::new(shape, 200);
        let clean = case.run(device, &[0, 70, 200]);
        case.qkv[70 * shape.packed_width()..].fill(f32::NAN);
        let spoiled = case.run(device, &[0, 70, 200]);
        let own = 70 * shape.packed_width();
        same_bits(&spoiled[..own], &clean[..own]);
        assert!(spoiled[own..].iter().all(|x| x.is_nan()));
    }
    device.check().unwrap();
}

/// Two heads that share their keys go through the kernels for Hopper where there is one; each with a copy
/// of the keys goes through the others. Nothing comes back to the second head, so that what comes back to
/// shared keys is the first's alone.
#[test]
fn heads_that_share_keys_have_the_bits_of_heads_with_copies() {
    let Some(device) = device() else { return };
    let shared = Shape { heads: 2, kv_heads: 1, size: 128, scale: 0.3 };
    let apart = Shape { kv_heads: 2, ..shared };
    let offsets = offsets(&LENGTHS);
    let mut case = Case::new(shared, offsets[LENGTHS.len()]);
    case.dout.chunks_mut(shared.width()).for_each(|row| row[128..].fill(0.0));
    let copied = case.qkv.chunks(4 * 128).flat_map(|row| {
        let (queries, key, value) = (&row[..256], &row[256..384], &row[384..]);
        [queries, key, key, value, value].concat()
    });
    let other = Case { shape: apart, qkv: copied.collect(), dout: case.dout.clone() };
    for (one, two) in ours(device, &shared, &offsets, &case.qkv)
        .iter()
        .zip(ours(device, &apart, &offsets, &other.qkv))
    {
        same_bits(one, &two);
    }
    let (one, two) = (case.run(device, &offsets), other.run(device, &offsets));
    let of_first = |x: &[f32], heads: [usize; 4], width: usize| -> Vec<f32> {
        let rows = x.chunks(width);
        rows.flat_map(|row| heads.map(|head| &row[head * 128..][..128]).concat()).collect()
    };
    // Both queries' gradients, and those of the first key and value.
    same_bits(&of_first(&one, [0, 1, 2, 3], 512), &of_first(&two, [0, 1, 2, 4], 768));
    device.check().unwrap();
}
