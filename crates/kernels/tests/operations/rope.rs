//! Turning there and back.

use whetstone_kernels::Device;
use whetstone_kernels::rms_norm::Heads;
use whetstone_kernels::rope::{Angles, RopeTable, Rotate, turn};

use crate::oracle;
use crate::support::{Layout, close, f64s, inner, numbers, same_bits, slopes};

/// So few bits that an angle is the same number in f32 and in f64.
const FREQUENCIES: [f32; 3] = [1.0, 0.3125, 0.015_625];
const FACTOR: f32 = 1.25;
const SHAPE: Heads = Heads { rows: 70, heads: 2, size: 6, stride: 15 };

fn layout() -> Layout {
    Layout { rows: SHAPE.rows, cols: SHAPE.heads * SHAPE.size, stride: SHAPE.stride }
}

fn positions() -> Vec<u32> {
    (0..70).map(|row| row * 13 % 40).collect()
}

fn ours(x: &[f32], direction: Rotate) -> Vec<f32> {
    let run = |device: &Device| {
        let turns = RopeTable::new(device, &FREQUENCIES, FACTOR, 40);
        assert_eq!(turns.positions(), 40);
        let positions = device.upload(&positions());
        let mut x = device.upload(&layout().apart(x));
        let angles = Angles { table: &turns, positions: positions.view(), direction };
        turn(device, &mut x.view_mut(), SHAPE, angles);
        vec![layout().together(&device.read(x.view()))]
    };
    same_bits(run).remove(0)
}

fn formula(x: &[f64]) -> Vec<f64> {
    let heads = x.chunks(SHAPE.size).enumerate();
    let positions = positions();
    heads
        .flat_map(|(at, head)| {
            let position = f64::from(positions[at / SHAPE.heads]);
            oracle::rope(head, position, &FREQUENCIES.map(f64::from), f64::from(FACTOR))
        })
        .collect()
}

#[test]
fn a_head_is_turned_by_its_position() {
    let x = numbers(1, 70 * 12);
    close(&ours(&x, Rotate::Forward), &formula(&f64s(&x)), 2e-6);
}

#[test]
fn turning_back_is_the_gradient() {
    let (x, dy) = (f64s(&numbers(1, 70 * 12)), numbers(2, 70 * 12));
    let truth = slopes(|x| inner(&formula(x), &f64s(&dy)), &x);
    close(&ours(&dy, Rotate::Inverse), &truth, 2e-6);
}

#[test]
#[should_panic(expected = "range")]
fn a_position_without_a_table_is_refused() {
    let device = Device::cpu(1).unwrap();
    let turns = RopeTable::new(&device, &FREQUENCIES, FACTOR, 4);
    let positions = device.upload(&[4u32]);
    let mut x = device.zeros(6);
    let direction = Rotate::Forward;
    let angles = Angles { table: &turns, positions: positions.view(), direction };
    turn(&device, &mut x.view_mut(), Heads::rows(1, 6), angles);
}
