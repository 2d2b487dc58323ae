//! Size classes of allocations, so that a buffer that is freed fits the next of about its size.

/// The allocated size for `lines` lines.
pub(crate) fn class(lines: usize) -> usize {
    let lines = lines.max(1);
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.next_multiple_of(step)
}
