//! Random numbers without a state: a function of a key and a counter.
//!
//! Philox 4x32 with ten rounds (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
//! A token's number depends on the seed, the sequence and the position, and so on nothing that
//! happens beside it.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four numbers for a counter and a key.
pub fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let [low0, high0] = product(MULTIPLIERS[0], counter[0]);
        let [low1, high1] = product(MULTIPLIERS[1], counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// The number for a token: at least 0 and less than 1, in steps of 2⁻⁵³.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
pub fn uniform(seed: u64, sequence: u64, position: u64) -> f64 {
    let [a, b] = halves(position);
    let [c, d] = halves(sequence);
    let [low, high, ..] = philox([a, b, c, d], halves(seed));
    let bits = (u64::from(high) << 32 | u64::from(low)) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

fn product(a: u32, b: u32) -> [u32; 2] {
    halves(u64::from(a) * u64::from(b))
}

/// The low and the high half.
#[expect(clippy::cast_possible_truncation, reason = "the halves of it")]
fn halves(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authors_known_answers() {
        // Random123's kat_vectors, lines `philox4x32 10`.
        let table = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, answer) in table {
            assert_eq!(philox(counter, key), answer);
        }
    }

    #[test]
    fn uniform_numbers_fill_the_interval_evenly() {
        let mut tenths = [0; 10];
        for position in 0..20_000 {
            let u = uniform(7, 3, position);
            assert!((0.0..1.0).contains(&u));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
            let tenth = (u * 10.0) as usize;
            tenths[tenth] += 1;
        }
        // 2,000 expected, standard deviation 42.
        assert!(tenths.iter().all(|&n| (1830..2170).contains(&n)), "{tenths:?}");
    }

    #[test]
    fn seed_sequence_and_position_all_matter() {
        let all = [uniform(1, 2, 3), uniform(2, 2, 3), uniform(1, 3, 3), uniform(1, 2, 4)];
        for (at, a) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|b| (a - b).abs() > 1e-12));
        }
        assert!((uniform(0, 1 << 40, 0) - uniform(0, 0, 0)).abs() > 1e-12);
    }
}
