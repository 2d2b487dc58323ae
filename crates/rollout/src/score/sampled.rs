//! How the rollouts of a file were sampled, as far as their lines say it: what a training on them has to be set to.

use whetstone_core::wire::Object;

/// Fields of a teacher's trace that a rollout does not have.
const OF_A_TRACE: [&str; 2] = ["sample", "model"];

/// The sampling of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Sampled {
    /// No line says a temperature.
    #[default]
    Unknown,
    /// All lines that say one say this.
    At(f64),
    /// Lines say different ones.
    Mixed,
    /// Some line was not sampled by a model that learns: it is a mock rollout, or a teacher's.
    ByOthers,
}

impl Sampled {
    /// How a line was sampled; `object` has its other fields.
    pub(super) fn of(object: &Object, meta: &Object) -> Self {
        let is_mock = meta.get("mock").is_some();
        if is_mock || OF_A_TRACE.iter().all(|field| object.get(field).is_some()) {
            return Self::ByOthers;
        }
        let number = |field| meta.get(field).and_then(|json| serde_json::from_str(json).ok());
        match number("temperature") {
            // No gradient is made of greedy samples.
            Some(temperature) if temperature > 0.0 => Self::At(temperature),
            _ => Self::Unknown,
        }
    }

    /// The sampling of both; the order of lines decides nothing.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::ByOthers, _) | (_, Self::ByOthers) => Self::ByOthers,
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            (Self::At(one), Self::At(two)) if one.to_bits() == two.to_bits() => self,
            _ => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Sampled {
        let mut object: Object = serde_json::from_str(line).unwrap();
        let meta = object.take("meta").unwrap().unwrap_or_default();
        Sampled::of(&object, &meta)
    }

    #[test]
    fn a_line_says_how_it_was_sampled() {
        assert_eq!(of(r#"{"meta":{"temperature":0.7}}"#), Sampled::At(0.7));
        assert_eq!(of(r#"{"meta":{"temperature":0.0,"greedy":true}}"#), Sampled::Unknown);
        assert_eq!(of(r#"{"meta":{"temperature":"hot"}}"#), Sampled::Unknown);
        assert_eq!(of(r#"{"meta":{"mock":"good","temperature":0.7}}"#), Sampled::ByOthers);
        assert_eq!(of(r#"{"sample":0,"model":"expert"}"#), Sampled::ByOthers);
    }

    #[test]
    fn lines_agree_or_are_mixed_in_any_order() {
        let [one, two] = [Sampled::At(0.7), Sampled::At(1.0)];
        assert_eq!(one.and(one).and(Sampled::Unknown), one);
        assert_eq!(Sampled::Unknown.and(one), one);
        assert_eq!((one.and(two), two.and(one).and(one)), (Sampled::Mixed, Sampled::Mixed));
        assert_eq!(Sampled::ByOthers.and(one).and(two), Sampled::ByOthers);
    }
}
