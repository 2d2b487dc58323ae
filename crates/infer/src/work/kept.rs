//! Conversations between two turns: their pages stay, so that the next turn computes only what is new.
//!
//! A first prompt is prefilled as a whole, by attention over packed rows. All later tokens are computed as
//! decode steps compute them, by attention over pages: sampled ones when they are sampled, and those of the user
//! with [`Decoder::extend`](whetstone_model::decoder::Decoder::extend). On processors the two kinds of attention
//! add up in different orders, so it is fixed which token is computed by which: a token's bits are the same
//! whether its pages were kept or had to be computed again. Pages are given up only if nothing could be
//! sampled otherwise.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use whetstone_model::decoder::PAGE;

use crate::generator::{SampleId, TurnPrompt};
use crate::pages::Pages;

/// A conversation whose last completion is being answered.
#[derive(Debug)]
pub(super) struct Kept {
    /// Its prompt and completion.
    pub(super) tokens: Vec<u32>,
    /// Tokens at the beginning that were prefilled as a whole.
    pub(super) packed: usize,
    /// Tokens at the beginning whose keys and values are in the pages.
    pub(super) cached: usize,
    pub(super) pages: Vec<u32>,
}

/// A conversation whose next turn waits.
#[derive(Debug)]
pub(super) struct NextTurn {
    pub(super) prompt: usize,
    pub(super) turn: Arc<TurnPrompt>,
    /// Tokens at the beginning that are prefilled as a whole.
    pub(super) packed: usize,
    /// Tokens at the beginning whose keys and values are in the pages; 0 if they were given up.
    pub(super) cached: usize,
    pub(super) pages: Vec<u32>,
    /// Pages that it may still take.
    pub(super) promised: usize,
}

/// A page to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copied {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Conversations between two turns.
#[derive(Debug, Default)]
pub(super) struct Conversations {
    answered: VecDeque<NextTurn>,
    kept: BTreeMap<SampleId, Kept>,
}

impl Kept {
    /// How the next turn begins: tokens that are prefilled as a whole, and tokens of which pages can be used.
    ///
    /// If the prompt does not begin with this conversation (a chat template may rewrite earlier turns), whole
    /// pages of what both have in common are used. None if there is no such page.
    fn reused_by(&self, prompt: &[u32]) -> Option<(usize, usize)> {
        let both = self.tokens.iter().zip(prompt);
        let common = both.take_while(|(one, other)| one == other).count();
        let common = if common == self.tokens.len() { common } else { common / PAGE * PAGE };
        let (packed, most) = (self.packed.min(common), prompt.len() - 1);
        (packed > 0 && packed <= most).then(|| (packed, common.min(self.cached).min(most)))
    }
}

impl NextTurn {
    /// Tokens that are computed when it starts, those of its beginning included if its pages were given up.
    pub(super) fn new_tokens(&self) -> usize {
        self.turn.prompt.tokens.len() - self.cached
    }

    /// Whether its first new token goes to a page that others see.
    fn tail_is_shared(&self, pages: &Pages) -> bool {
        !self.cached.is_multiple_of(PAGE) && pages.is_shared(self.pages[self.cached / PAGE])
    }

    /// Pages that it takes when it starts, a copy of one that others see included.
    pub(super) fn pages_at_start(&self, pages: &Pages) -> usize {
        let all = self.turn.prompt.tokens.len().div_ceil(PAGE);
        all - self.pages.len() + usize::from(self.tail_is_shared(pages))
    }

    /// Takes the pages that it needs at its start, which were promised. Returns a page to copy.
    pub(super) fn take_pages(&mut self, pages: &mut Pages) -> Option<Copied> {
        let copy = self.tail_is_shared(pages).then(|| {
            let tail = &mut self.pages[self.cached / PAGE];
            let own = pages.take();
            self.promised -= 1;
            Copied { from: std::mem::replace(tail, own), to: own }
        });
        let all = self.turn.prompt.tokens.len().div_ceil(PAGE);
        self.promised -= all - self.pages.len();
        self.pages.extend((self.pages.len()..all).map(|_| pages.take()));
        copy
    }
}

impl Conversations {
    /// Keeps a conversation whose completion has ended.
    pub(super) fn keep(&mut self, id: SampleId, mut kept: Kept, pages: &mut Pages) {
        let used = kept.cached.div_ceil(PAGE);
        kept.pages.drain(used..).for_each(|page| pages.give_back(page));
        self.kept.insert(id, kept);
    }

    /// Lets a conversation go that no turn will follow.
    pub(super) fn end(&mut self, id: SampleId, pages: &mut Pages) {
        let kept = self.kept.remove(&id).map(|kept| kept.pages);
        kept.into_iter().flatten().for_each(|page| pages.give_back(page));
    }

    /// Queues the next turn of a conversation. False if nothing of it can be used: then it is a prompt like any
    /// other.
    pub(super) fn go_on(
        &mut self,
        prompt: usize,
        turn: &Arc<TurnPrompt>,
        pages: &mut Pages,
    ) -> bool {
        let Some(id) = turn.follows else { return false };
        let Some(kept) = self.kept.get_mut(&id) else { return false };
        let reused = kept.reused_by(&turn.prompt.tokens);
        let Some((packed, cached)) = reused.filter(|_| turn.prompt.samples == 1) else {
            self.end(id, pages);
            return false;
        };
        let used = cached.div_ceil(PAGE);
        kept.pages.drain(used..).for_each(|page| pages.give_back(page));
        let (turn, pages) = (Arc::clone(turn), std::mem::take(&mut kept.pages));
        self.kept.remove(&id);
        self.answered.push_back(NextTurn { prompt, turn, packed, cached, pages, promised: 0 });
        true
    }

    /// The next turn that has waited longest.
    pub(super) fn front(&self) -> Option<&NextTurn> {
        self.answered.front()
    }

    /// Takes it out of the queue.
    pub(super) fn pop_front(&mut self) -> Option<NextTurn> {
        self.answered.pop_front()
    }

    /// Gives up the pages of one conversation: of one that is being answered, or else of the next turn that would
    /// start last, but for the first `spared` in the queue. Returns `false` if nothing is kept.
    pub(super) fn give_up(&mut self, spared: usize, pages: &mut Pages) -> bool {
        let has_pages = |pages: &[u32]| !pages.is_empty();
        let given_up =
            if let Some(kept) = self.kept.values_mut().find(|kept| has_pages(&kept.pages)) {
                kept.cached = 0;
                std::mem::take(&mut kept.pages)
            } else if let Some(turn) =
                self.answered.iter_mut().skip(spared).rfind(|turn| has_pages(&turn.pages))
            {
                turn.cached = 0;
                std::mem::take(&mut turn.pages)
            } else {
                return false;
            };
        for page in given_up {
            pages.give_back(page);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(tokens: u32, packed: usize, cached: usize) -> Kept {
        Kept { tokens: (0..tokens).collect(), packed, cached, pages: Vec::new() }
    }

    #[test]
    fn a_prompt_that_begins_with_the_conversation_uses_all_of_it() {
        let before = kept(40, 10, 39);
        let next: Vec<u32> = (0..45).collect();
        assert_eq!(before.reused_by(&next), Some((10, 39)));
        assert_eq!(before.reused_by(&next[..40]), Some((10, 39)), "an answer of no tokens");
    }

    #[test]
    fn a_prompt_that_differs_uses_whole_pages_of_the_common_beginning() {
        let before = kept(60, 20, 59);
        let differing_at = |at: usize, length: u32| -> Vec<u32> {
            (0..length)
                .map(|token| if token as usize >= at { token + 100 } else { token })
                .collect()
        };
        assert_eq!(before.reused_by(&differing_at(50, 70)), Some((20, 48)));
        assert_eq!(
            before.reused_by(&differing_at(19, 70)),
            Some((16, 16)),
            "inside of the first prompt"
        );
        assert_eq!(before.reused_by(&differing_at(15, 70)), None, "not even a page");
        assert_eq!(before.reused_by(&differing_at(99, 20)), Some((16, 16)), "a shorter one");
        assert_eq!(before.reused_by(&differing_at(99, 16)), None, "nothing new");
    }
}
