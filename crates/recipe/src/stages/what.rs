//! What stages give to each other.

/// An input or an output of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Tasks to learn from.
    Tasks,
    /// Tasks to measure by.
    HeldOut,
    /// Traces of a teacher.
    Traces,
    /// SFT rows of a teacher's traces.
    Rows,
    /// A model: an adapter, or a whole one.
    Model,
    /// Judged rollouts.
    Rollouts,
    /// Preference pairs to learn from.
    Pairs,
    /// Preference pairs to measure by.
    HeldOutPairs,
    /// A reward model.
    RewardModel,
    /// A process reward model.
    ProcessModel,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Tasks,
        Self::HeldOut,
        Self::Traces,
        Self::Rows,
        Self::Model,
        Self::Rollouts,
        Self::Pairs,
        Self::HeldOutPairs,
        Self::RewardModel,
        Self::ProcessModel,
    ];

    /// Its name in a stage file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::HeldOut => "held_out",
            Self::Traces => "traces",
            Self::Rows => "rows",
            Self::Model => "model",
            Self::Rollouts => "rollouts",
            Self::Pairs => "pairs",
            Self::HeldOutPairs => "held_out_pairs",
            Self::RewardModel => "reward_model",
            Self::ProcessModel => "process_model",
        }
    }

    /// That of this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// An input of a kind of stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// It cannot do without.
    Needs(What),
    /// It takes it where there is one.
    May(What),
    /// It cannot do without one of them, and takes all that there are.
    OneOf(&'static [What]),
    /// It cannot do without one of them, and takes the one that is named, or else the first that there is.
    FirstOf(&'static [What]),
}

impl Take {
    /// All that may be taken.
    pub fn whats(&self) -> &[What] {
        match self {
            Self::Needs(what) | Self::May(what) => std::slice::from_ref(what),
            Self::OneOf(whats) | Self::FirstOf(whats) => whats,
        }
    }
}
