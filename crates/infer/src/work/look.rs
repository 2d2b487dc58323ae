//! How far the work is, for whoever watches it, and whether it is to end.

use std::ops::ControlFlow;

use super::{Active, Work, room};
use crate::headway::{Headway, Watch};

impl<'a> Work<'a> {
    /// Is looked at while it works.
    pub(crate) fn watched(self, watch: Option<Watch<'a>>) -> Self {
        Self { watch, ..self }
    }

    /// Whether somebody who watches wants the work to end.
    pub(super) fn look(&self) -> ControlFlow<()> {
        self.watch.map_or(ControlFlow::Continue(()), |Watch(look)| look(&|| self.headway()))
    }

    /// Asks that between the layers of prompts, while the work is where it is now.
    pub(super) fn stop(&self) -> impl Fn() -> bool + use<'a> {
        let (watch, headway) = (self.watch, self.headway());
        move || watch.is_some_and(|Watch(look)| look(&|| headway).is_break())
    }

    fn headway(&self) -> Headway {
        let mut headway = Headway {
            usage: self.usage,
            done: self.done,
            active: self.active.len(),
            rows: self.most.rows,
            ..Headway::default()
        };
        for Active { turn, ids, .. } in &self.active {
            let room = room(self.decoder, &turn.prompt);
            headway.longest_left = headway.longest_left.max(room.saturating_sub(ids.len()));
            headway.max_tokens = headway.max_tokens.max(room);
        }
        for waiting in &self.waiting {
            headway.waiting += waiting.left;
            headway.waiting_tokens += waiting.prompt_tokens();
            headway.max_tokens = headway.max_tokens.max(room(self.decoder, &waiting.turn.prompt));
        }
        headway
    }
}
