//! Free pages of the KV cache, and reference counts of the others.

use whetstone_model::decoder::PAGE;

/// Pages that the samples of a prompt share, and the most that each needs for itself: its own copy
/// of a page that the prompt fills in part, and its completion. The last token needs no slot.
pub(crate) fn page_counts(prompt: usize, room: usize) -> (usize, usize) {
    let shared = prompt.div_ceil(PAGE);
    (shared, (prompt + room - 1).div_ceil(PAGE) - prompt / PAGE)
}

/// Pages by number.
#[derive(Debug)]
pub(crate) struct Pages {
    free: Vec<u32>,
    holders: Vec<u32>,
    /// Promised to sequences that have started and not taken yet.
    promised: usize,
    most: usize,
}

impl Pages {
    pub(crate) fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // The lowest number is handed out first.
        Self {
            free: (0..count).rev().collect(),
            holders: vec![0; count as usize],
            promised: 0,
            most: 0,
        }
    }

    /// Pages that are neither held nor reserved.
    pub(crate) fn available(&self) -> usize {
        self.free.len() - self.promised
    }

    /// Reserves pages that will be taken later.
    ///
    /// # Panics
    ///
    /// If they are not available.
    pub(crate) fn promise(&mut self, count: usize) {
        assert!(count <= self.available(), "{count} of {} pages", self.available());
        self.promised += count;
    }

    /// Takes back a promise.
    pub(crate) fn release(&mut self, count: usize) {
        self.promised -= count;
    }

    /// Takes a page that was promised.
    pub(crate) fn take(&mut self) -> u32 {
        self.promised -= 1;
        let page = self.free.pop().expect("a promise is kept");
        self.holders[page as usize] = 1;
        self.most = self.most.max(self.holders.len() - self.free.len());
        page
    }

    /// One more holds it.
    pub(crate) fn share(&mut self, page: u32) {
        self.holders[page as usize] += 1;
    }

    /// Whether more than one holds it.
    pub(crate) fn is_shared(&self, page: u32) -> bool {
        self.holders[page as usize] > 1
    }

    /// One less holds it.
    pub(crate) fn give_back(&mut self, page: u32) {
        let holders = &mut self.holders[page as usize];
        *holders -= 1;
        if *holders == 0 {
            self.free.push(page);
        }
    }

    /// Pages of the fullest moment.
    pub(crate) fn most(&self) -> usize {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_free_when_its_last_holder_has_let_go() {
        let mut pages = Pages::new(2);
        pages.promise(1);
        let page = pages.take();
        pages.share(page);
        pages.give_back(page);
        assert_eq!(pages.available(), 1);
        pages.give_back(page);
        assert_eq!((pages.available(), pages.most()), (2, 1));
    }

    #[test]
    fn what_is_promised_is_not_available() {
        let mut pages = Pages::new(3);
        pages.promise(2);
        assert_eq!(pages.available(), 1);
        let _ = pages.take();
        assert_eq!(pages.available(), 1);
        pages.release(1);
        assert_eq!(pages.available(), 2);
    }
}
