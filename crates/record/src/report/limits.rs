//! Limits on the size of a page.

/// Points of a curve. A screen has fewer; of a longer run every second, third, … step is drawn.
pub const MAX_STEPS: usize = 4_000;

/// Completions that can be read in a page.
pub const MAX_COMPLETIONS: u64 = 200_000;

/// Text of them all, before it is packed: about 50 MB in the page.
pub const MAX_TEXT_BYTES: u64 = 128 << 20;

/// Bytes of one completion; a longer one is truncated, and the page says so.
pub const MAX_COMPLETION_BYTES: usize = 16 << 10;

/// Turns of an episode that are shown.
pub const MAX_TURNS: usize = 64;

/// Bytes of one text of a turn: a message of the environment, thinking, a reply, an action or a state.
pub const MAX_TURN_TEXT_BYTES: usize = 8 << 10;

/// Bytes of all texts of an episode but its last reply; further ones are cut, and the page says so.
pub const MAX_EPISODE_BYTES: usize = 48 << 10;

/// Hidden tests of one task, as text; larger ones are left out.
pub const MAX_TESTS_BYTES: usize = 64 << 10;

/// One line of rollouts or tasks; a run with a longer one is not shown.
pub const MAX_ROLLOUT_BYTES: usize = 16 << 20;

/// Text of the feed: every figure that is drawn.
pub const MAX_FEED_BYTES: usize = 48 << 20;

/// Distinct steps. A run with more is not shown.
pub const MAX_SURVEYED_STEPS: usize = 50_000;

/// Completions whose lengths are kept. A run with more is not shown.
pub const MAX_LENGTHS: usize = 8 << 20;

/// Names of tasks that were answered, in bytes of them all.
pub const MAX_TASK_NAME_BYTES: usize = 16 << 20;

/// Names that others give: of terms, of exceptions. A longer one is cut, or left out.
pub(super) const MAX_NAME_BYTES: usize = 512;

/// Distinct reward terms of a run.
pub(super) const MAX_TERMS: usize = 24;

/// Bytes of a chunk before compression: what is decompressed to show one completion.
pub(super) const CHUNK_BYTES: usize = 256 << 10;

/// The beginning of a text, and how many bytes behind it were left out.
pub(super) fn cut(text: &str, limit_bytes: usize) -> (&str, usize) {
    if text.len() <= limit_bytes {
        return (text, 0);
    }
    let end = text.floor_char_boundary(limit_bytes);
    (&text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("abc", 3), ("abc", 0));
        assert_eq!(cut("aßc", 2), ("a", 3));
        assert_eq!(cut("aßc", 3), ("aß", 1));
    }
}
