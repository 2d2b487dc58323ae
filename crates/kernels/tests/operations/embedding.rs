//! Rows of a table, and what comes back to them.

use whetstone_kernels::Device;
use whetstone_kernels::embedding::{self, SAMPLED};

use crate::support::{close, f64s, numbers, same_bits};

#[test]
fn each_token_gets_its_row() {
    let (table, ids) = (numbers(1, 5 * 3), [4u32, 0, 4, 2]);
    let ours = same_bits(|device| {
        let (table, ids) = (device.upload(&table), device.upload(&ids));
        let mut to = device.take(12);
        embedding::gather(device, &mut to.view_mut(), table.view(), ids.view());
        vec![device.read(to.view())]
    });
    let truth: Vec<f32> =
        ids.iter().flat_map(|&id| &table[id as usize * 3..][..3]).copied().collect();
    assert_eq!(ours[0], truth);
}

#[test]
fn more_tokens_than_a_thread_takes_at_a_time_all_get_theirs() {
    let (table, count) = (numbers(1, 31 * 2), 700);
    let ids: Vec<u32> = (0..count).map(|t| t * 7 % 31).collect();
    let ours = same_bits(|device| {
        let (table, ids) = (device.upload(&table), device.upload(&ids));
        let mut to = device.take(ids.len() * 2);
        embedding::gather(device, &mut to.view_mut(), table.view(), ids.view());
        vec![device.read(to.view())]
    });
    for (row, id) in ours[0].chunks(2).zip(&ids) {
        assert_eq!(row, &table[*id as usize * 2..][..2]);
    }
}

#[test]
fn the_gradient_of_a_row_is_the_sum_over_its_tokens() {
    let (rows, width, ids) = (6, 3, [4u32, 0, 4, 2, 5, 4]);
    let (dy, old) = (numbers(2, ids.len() * width), numbers(3, rows * width));
    let ours = same_bits(|device| {
        let (dy, ids) = (device.upload(&dy), device.upload(&ids));
        let mut dtable = device.upload::<f32>(&old);
        embedding::scatter(device, &mut dtable.view_mut(), dy.view(), ids.view());
        vec![device.read(dtable.view())]
    });
    let mut truth = f64s(&old);
    for (dy, id) in dy.chunks(width).zip(ids) {
        for (at, dy) in dy.iter().enumerate() {
            truth[id as usize * width + at] += f64::from(*dy);
        }
    }
    close(&ours[0], &truth, 1e-6);
}

#[test]
fn tokens_in_one_call_and_in_several_give_a_table_the_same_gradient() {
    let (rows, width, count) = (7, 3, 200);
    let ids: Vec<u32> = (0..count).map(|t| t * t % 7).collect();
    let dy = numbers(2, ids.len() * width);
    let run = |device: &Device, splits: &[usize]| {
        let mut dtable = device.upload::<f32>(&vec![0.3; rows * width]);
        for ends in splits.windows(2) {
            let dy = device.upload(&dy[ends[0] * width..ends[1] * width]);
            let ids = device.upload(&ids[ends[0]..ends[1]]);
            embedding::scatter(device, &mut dtable.view_mut(), dy.view(), ids.view());
        }
        vec![device.read(dtable.view())]
    };
    let at_once = same_bits(|device| run(device, &[0, 200]));
    for splits in [&[0, 1, 64, 65, 200][..], &[0, 199, 200]] {
        assert_eq!(same_bits(|device| run(device, splits)), at_once, "{splits:?}");
    }
}

#[test]
#[should_panic(expected = "range")]
fn a_token_beyond_the_table_is_refused() {
    let device = Device::cpu(1).unwrap();
    let (table, ids) = (device.zeros(6), device.upload(&[3u32]));
    let mut to = device.take(2);
    embedding::gather(&device, &mut to.view_mut(), table.view(), ids.view());
}

#[test]
#[should_panic(expected = "a token that the table does not have")]
fn a_gradient_for_a_token_beyond_the_table_is_refused() {
    let device = Device::cpu(2).unwrap();
    let (dy, ids) = (device.zeros(2), device.upload(&[3u32]));
    let mut dtable = device.zeros::<f32>(6);
    embedding::scatter(&device, &mut dtable.view_mut(), dy.view(), ids.view());
}

#[test]
fn an_id_is_known_or_that_of_a_row_that_was_sampled() {
    let device = Device::cpu(2).unwrap();
    let named = [7, SAMPLED | 2, 0, SAMPLED];
    let (ids, sampled) = (device.upload(&named), device.upload(&[40u32, 41, 42]));
    let mut to = device.upload(&[9u32; 4]);
    embedding::resolve(&device, &mut to.view_mut(), ids.view(), sampled.view());
    assert_eq!(device.read(to.view()), [7, 42, 0, 40]);
}
