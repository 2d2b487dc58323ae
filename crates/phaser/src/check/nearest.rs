//! The known name that is spelt most like an unknown one.

/// Names longer than this are not compared.
const MAX_CHARS: usize = 64;

/// The nearest of `known` by edit distance, if it is near: at most a third of the letters differ, and at
/// most four. Of equally near ones the first in the alphabet.
pub(super) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let length = name.chars().count();
    if length > MAX_CHARS {
        return None;
    }
    let limit = (length / 3).clamp(1, 4);
    known
        .filter(|other| !other.starts_with('_') && other.len().abs_diff(name.len()) <= limit)
        .map(|other| (distance(name, other), other))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, other)| other.to_owned())
}

/// A difference in case alone is nearer than any other.
fn distance(name: &str, other: &str) -> usize {
    if name.eq_ignore_ascii_case(other) { 0 } else { strsim::osa_distance(name, other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_near_and_the_first_of_equals() {
        let of = |name| {
            nearest(name, ["setVelocityX", "setVelocity", "setVelocityY", "play"].into_iter())
        };
        assert_eq!(of("setVelocityEx").as_deref(), Some("setVelocity"));
        assert_eq!(of("setVelocityXx").as_deref(), Some("setVelocityX"));
        assert_eq!(of("setvelocity").as_deref(), Some("setVelocity"));
        assert_eq!(of("plays").as_deref(), Some("play"));
        assert_eq!(of("explode"), None);
        assert_eq!(of(&"a".repeat(100)), None);
    }
}
