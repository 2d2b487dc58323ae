//! What an evaluation marks a sample with before it is kept, so that figures of different decodings are never mixed.
//!
//! | sample | field of `meta` |
//! |---|---|
//! | at the temperature of the evaluation | none |
//! | greedy | `"greedy":true` |
//! | at a further temperature | `"further_temperature":0.6` |

use whetstone_core::rollout::RolloutLine;
use whetstone_core::wire::Object;

use crate::decoding::Decoding;

/// The field of a sample that was not drawn by chance.
const GREEDY: &str = "greedy";

/// The field of a sample at a further temperature.
const FURTHER: &str = "further_temperature";

/// Which figures a sample counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleKind {
    /// Those of the evaluation: pass@k, programs, episodes.
    Main,
    /// The greedy ones.
    Greedy,
    /// Those of a further temperature.
    Further(Decoding),
}

impl SampleKind {
    /// Marks a sample of this kind.
    pub(crate) fn mark(self, mut rollout: RolloutLine) -> RolloutLine {
        match self {
            Self::Main => {}
            Self::Greedy => rollout.meta.put(GREEDY, &true),
            Self::Further(decoding) => rollout.meta.put(FURTHER, &decoding.temperature()),
        }
        rollout
    }

    /// The kind of a sample. A line from elsewhere may say anything there.
    pub(crate) fn of(meta: &Object) -> Self {
        let further = || {
            let temperature = serde_json::from_str(meta.get(FURTHER)?).ok()?;
            Decoding::at(temperature)
        };
        match (meta.get(GREEDY), further()) {
            (Some("true"), _) => Self::Greedy,
            (_, Some(decoding)) => Self::Further(decoding),
            (_, None) => Self::Main,
        }
    }
}

/// Whether a sample was drawn at the temperature of its evaluation.
pub fn is_main_sample(rollout: &RolloutLine) -> bool {
    SampleKind::of(&rollout.meta) == SampleKind::Main
}
