//! How hard a task is, as the data set that it came from says.

/// The number in a difficulty, or the place of its name.
pub(super) fn level(difficulty: &str) -> Option<u64> {
    const NAMES: [&str; 6] = ["introductory", "easy", "interview", "medium", "competition", "hard"];
    let named = || NAMES.iter().position(|name| *name == difficulty).map(|at| at as u64);
    difficulty.parse().ok().or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difficulties_are_numbers_or_known_names() {
        let levels = ["7", "introductory", "interview", "hard", "odd"].map(level);
        assert_eq!(levels, [Some(7), Some(0), Some(2), Some(5), None]);
    }
}
