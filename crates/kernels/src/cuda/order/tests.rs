//! Tests of ranges and counts of trials.

use super::*;
use crate::cuda::product::weight_product;

#[test]
fn a_range_has_two_ends_for_each_doubling() {
    for (count, expected) in
        [(1, 1), (2, 2), (5, 6), (7, 8), (64, 64), (65, 96), (97, 128), (8192, 8192)]
    {
        assert_eq!(range_end(count), expected, "{count}");
    }
    assert_eq!(range_end(u32::MAX), u32::MAX);
}

#[test]
fn rows_of_a_batch_and_tokens_of_a_gradient_have_ranges_and_weights_have_none() {
    let forward = weight_product(65, 4096, 2048);
    assert_eq!(representative(&forward), Product { rows: 96, ..forward });
    let gradient = Product {
        a: (Order::ByColumns, 4096),
        b: (Order::ByRows, 2048),
        inner: 700,
        ..weight_product(4096, 2048, 700)
    };
    // Ten whole blocks become twelve, and sixty numbers are left over of another.
    assert_eq!(representative(&gradient), Product { inner: 12 * 64 + 60, ..gradient });
    let short = Product { inner: 100, ..gradient };
    assert_eq!(representative(&short), short);
}

#[test]
fn a_time_has_so_many_products_and_at_least_one() {
    let micros = Duration::from_micros;
    assert_eq!(repetitions(micros(1000), micros(300)), 3);
    assert_eq!(repetitions(micros(100), micros(300)), 1);
    assert_eq!(repetitions(micros(1), Duration::ZERO), 1000);
}

#[test]
fn few_rows_try_what_is_named_for_more() {
    let more = |product: &Product| more_rows(product).collect::<Vec<_>>();
    assert_eq!(more(&weight_product(64, 2048, 6144)), [96, 128, 192]);
    assert_eq!(more(&weight_product(96, 2048, 6144)), [128, 192]);
    assert!(more(&weight_product(192, 2048, 6144)).is_empty());
    let gradient = Product { a: (Order::ByColumns, 64), ..weight_product(64, 2048, 100) };
    assert!(more(&gradient).is_empty());
}

#[test]
fn a_head_and_copies_of_a_projection_are_large_and_a_tiny_model_is_not() {
    assert!(is_large(&weight_product(64, 151_936, 2048)));
    assert!(is_large(&weight_product(8192, 12_288, 2048)));
    assert!(is_large(&weight_product(64, 12_288, 2048)));
    assert!(!is_large(&weight_product(64, 512, 256)));
}

#[test]
fn copies_of_a_weight_are_more_than_a_cache_holds() {
    // Of Qwen3-1.7B: the attention's input, the head, and a weight of a tiny model.
    assert_eq!(weight_copies(4288 * 2240), 7);
    assert_eq!(weight_copies(151_936 * 2048), 1);
    assert_eq!(weight_copies(64 * 64), MOST_COPIES);
}

#[test]
fn cancelling_operands_repeat_along_what_is_summed() {
    let product = weight_product(8, 16, 33);
    let [a, b] = Mirror::of(&product, Numbers::Cancelling);
    assert_eq!(a, Mirror { half: 16, stride: 33, along_row: true, negative: false });
    assert_eq!(b, Mirror { negative: true, ..a });
    let gradient = Product { a: (Order::ByColumns, 8), b: (Order::ByRows, 16), ..product };
    let [a, b] = Mirror::of(&gradient, Numbers::Cancelling);
    assert_eq!((a.stride, a.along_row, b.stride, b.along_row), (8, false, 16, false));
    assert_eq!(Mirror::of(&product, Numbers::Random), [Mirror::NONE; 2]);
}
