//! The two kinds of reward models, which differ in what they score and in the file beside their adapter.

/// What an adapter with a score head scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScorerKind {
    /// Replies, by preference pairs.
    Reward,
    /// Transitions of episodes, by their labels.
    Process,
}

impl ScorerKind {
    /// Its name in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reward => "reward model",
            Self::Process => "process reward model",
        }
    }

    /// The file beside its adapter that says what it is worth, and on which base.
    pub fn file(self) -> &'static str {
        match self {
            Self::Reward => "reward_model.json",
            Self::Process => "process_model.json",
        }
    }

    /// Its folder in a checkpoint of a training that it pays in, and the name of its adapter there.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Reward => "reward_model",
            Self::Process => "process_model",
        }
    }

    /// The setting that names its directory.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Reward => "reward.model",
            Self::Process => "reward.process",
        }
    }

    pub(super) fn name_another(self) -> &'static str {
        match self {
            Self::Reward => {
                "name the directory `outputs/final_model` of a run of `whet train rm`; checkpoints have no \
                 measured scale yet"
            }
            Self::Process => {
                "name the directory `outputs/final_model` of a run of `whet train prm`; checkpoints are not \
                 measured yet"
            }
        }
    }

    pub(super) fn train_again(self) -> &'static str {
        match self {
            Self::Reward => "train it again: `whet train rm`",
            Self::Process => "train it again: `whet train prm`",
        }
    }

    pub(super) fn take_its_base(self) -> &'static str {
        match self {
            Self::Reward => {
                "name the base that it was trained on with `--set student.model_name=…`, or train a reward \
                 model on this one: `whet train rm`"
            }
            Self::Process => {
                "name the base that it was trained on with `--set student.model_name=…`, or train a process \
                 reward model on this one: `whet train prm`"
            }
        }
    }
}
