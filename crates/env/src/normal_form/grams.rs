//! The multiset of a program's n-grams of tokens.
//!
//! Blank tokens pad both ends, so that a token at the end counts as much as one in the middle.

/// Tokens of an n-gram.
const RUN: usize = 4;

/// A token of a normalised program, as its hash.
pub(super) type Token = u64;

/// The n-grams of one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Grams {
    /// A hash of all tokens in their order.
    whole: u64,
    /// The n-grams, sorted, each as often as it occurs.
    runs: Vec<u64>,
}

impl Grams {
    pub(super) fn of(tokens: &[Token]) -> Self {
        if tokens.is_empty() {
            return Self { whole: 0, runs: Vec::new() };
        }
        let blank = [0; RUN - 1];
        let padded = [&blank, tokens, &blank].concat();
        let mut runs: Vec<_> = padded.windows(RUN).map(mix).collect();
        runs.sort_unstable();
        Self { whole: mix(tokens), runs }
    }

    /// 1 − the n-grams in common over those in either; 0 of two programs without a token.
    #[expect(clippy::cast_precision_loss, reason = "n-grams of a program are far below 2^53")]
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let common = self.in_common(other);
        let either = self.runs.len() + other.runs.len() - common;
        if either == 0 { 0.0 } else { 1.0 - common as f64 / either as f64 }
    }

    /// Both lists are sorted: one walk over them.
    fn in_common(&self, other: &Self) -> usize {
        let (mut at, mut common) = (0, 0);
        for run in &self.runs {
            while other.runs.get(at).is_some_and(|theirs| theirs < run) {
                at += 1;
            }
            if other.runs.get(at) == Some(run) {
                (at, common) = (at + 1, common + 1);
            }
        }
        common
    }
}

/// The token of a text, told apart from the same text of another kind.
pub(super) fn token(kind: u8, text: &str) -> Token {
    // FNV-1a, the same on every machine.
    [kind].iter().chain(text.as_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// One number for tokens in their order.
fn mix(tokens: &[Token]) -> u64 {
    tokens.iter().fold(0x9e37_79b9_7f4a_7c15, |sum, token| {
        (sum.rotate_left(23) ^ token).wrapping_mul(0xff51_afd7_ed55_8ccd)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grams(text: &str) -> Grams {
        let tokens: Vec<Token> =
            text.chars().map(|letter| token(0, letter.encode_utf8(&mut [0; 4]))).collect();
        Grams::of(&tokens)
    }

    #[track_caller]
    fn check(one: &str, other: &str, expected: f64) {
        for found in [grams(one).distance(&grams(other)), grams(other).distance(&grams(one))] {
            assert!((found - expected).abs() < 1e-12, "{one} {other}: {found}");
        }
    }

    /// Of `abcd`: `___a __ab _abc abcd bcd_ cd__ d___`, seven. One letter is in four of them.
    #[test]
    fn the_distance_counts_grams_in_common_as_often_as_they_occur() {
        check("abcd", "abcd", 0.0);
        check("abcd", "wxyz", 1.0);
        check("abcd", "abcx", 1.0 - 3.0 / 11.0);
        check("abcd", "xbcd", 1.0 - 3.0 / 11.0);
        check("", "", 0.0);
        check("", "a", 1.0);
        // Of `aaaaa` the gram `aaaa` twice, of `aaaa` once: seven in common of eight.
        check("aaaaa", "aaaa", 1.0 - 7.0 / 8.0);
        assert_ne!(grams("ab"), grams("ba"));
    }
}
