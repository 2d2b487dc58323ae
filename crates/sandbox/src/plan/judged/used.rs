//! Judges, and the uses of their values.

use super::uses::Use;
use crate::plan::follow::TextOrigin;

/// The call of a judge, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UseJudge<'a> {
    pub(super) at: usize,
    pub(super) name: &'a str,
    pub(super) origin: TextOrigin,
}

/// A judge whose value is used.
#[derive(Clone, Copy)]
pub(super) struct Used<'a> {
    pub(super) judge: UseJudge<'a>,
    /// It is told more than answers.
    pub(super) more: bool,
    /// Its value has a name in between.
    pub(super) named: bool,
    pub(super) by: Use,
}

impl Used<'_> {
    pub(super) fn is_refused(&self) -> bool {
        match self.by {
            Use::Asserted | Use::Raises | Use::Decides => true,
            Use::Ordered => self.more,
            Use::Leads => self.more && !self.named,
            Use::Kept | Use::Free => false,
        }
    }
}

/// Judges whose values a name may stand for: the first of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Judges<'a> {
    pub(super) answers_alone: Option<UseJudge<'a>>,
    pub(super) more: Option<UseJudge<'a>>,
}

/// The judges whose values something stands for.
pub(super) fn hold<'a>(holds: Option<&Judges<'a>>, by: Use, used: &mut Vec<Used<'a>>) {
    let Some(holds) = holds else { return };
    let alone = holds.answers_alone.map(|judge| Used { judge, more: false, named: true, by });
    let more = holds.more.map(|judge| Used { judge, more: true, named: true, by });
    used.extend(alone.into_iter().chain(more));
}
