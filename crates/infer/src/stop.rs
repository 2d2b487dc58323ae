//! When a completion's text has reached one of the texts that end it.

/// Text so far, and what would end it.
#[derive(Debug)]
pub(crate) struct StopText {
    text: String,
    stops: Vec<String>,
    longest: usize,
    /// Whether a stop ended the text.
    is_ended: bool,
}

impl StopText {
    pub(crate) fn new(stops: &[String]) -> Self {
        let longest = stops.iter().map(String::len).max().unwrap_or(0);
        Self { text: String::new(), stops: stops.to_vec(), longest, is_ended: false }
    }

    /// Adds text; true if a stop is in it now, and then the text ends before it.
    pub(crate) fn push(&mut self, more: &str) -> bool {
        let seen = self.text.len().saturating_sub(self.longest);
        self.text.push_str(more);
        let begin = self.text.floor_char_boundary(seen);
        let found = self.stops.iter().filter(|stop| !stop.is_empty());
        let first = found.filter_map(|stop| self.text[begin..].find(stop.as_str())).min();
        if let Some(at) = first {
            self.text.truncate(begin + at);
            self.is_ended = true;
        }
        first.is_some()
    }

    /// The text that no later text can take back: all but the longest end that may become a stop.
    pub(crate) fn certain(&self) -> &str {
        if self.is_ended {
            return &self.text;
        }
        let last = self.text.len().saturating_sub(self.longest.saturating_sub(1));
        let begin = self.text.floor_char_boundary(last);
        let mut ends = self.text[begin..].char_indices().map(|(at, _)| begin + at);
        let may_stop =
            |at: &usize| self.stops.iter().any(|stop| stop.starts_with(&self.text[*at..]));
        let held = ends.find(may_stop);
        &self.text[..held.unwrap_or(self.text.len())]
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run(stops: &[&str], pieces: &[&str]) -> (String, Option<usize>) {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut text = StopText::new(&stops);
        let at = pieces.iter().position(|piece| text.push(piece));
        (text.into_text(), at)
    }

    #[test]
    fn a_stop_over_several_pieces_is_found_and_left_out() {
        assert_eq!(
            run(&["</code>"], &["x = 1", "</", "co", "de>", "y"]),
            ("x = 1".to_owned(), Some(3))
        );
    }

    #[test]
    fn the_first_of_several_stops_counts() {
        assert_eq!(run(&["b", "ab"], &["xab"]), ("x".to_owned(), Some(0)));
    }

    #[test]
    fn without_a_stop_everything_is_kept() {
        assert_eq!(run(&[], &["a", "é", "b"]), ("aéb".to_owned(), None));
        assert_eq!(run(&[""], &["a"]), ("a".to_owned(), None));
    }

    /// Text that is certain after each piece.
    fn certain(stops: &[&str], pieces: &[&str]) -> Vec<String> {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.to_owned()).collect();
        let mut text = StopText::new(&stops);
        let after = |piece: &&str| {
            text.push(piece);
            text.certain().to_owned()
        };
        pieces.iter().map(after).collect()
    }

    #[test]
    fn an_end_that_may_become_a_stop_is_held_back() {
        let pieces = ["x = 1", "</", "c", "ab", "</co", "de>"];
        let expected = ["x = 1", "x = 1", "x = 1", "x = 1</cab", "x = 1</cab", "x = 1</cab"];
        assert_eq!(certain(&["</code>"], &pieces), expected);
        assert_eq!(certain(&["aab"], &["aa", "a", "ab"]), ["", "a", "aa"]);
        assert_eq!(certain(&["终止", "b"], &["采终", "采"]), ["采", "采终采"]);
        assert_eq!(certain(&[], &["a", ""]), ["a", "a"]);
    }

    proptest! {
        /// Few letters, so that stops and their beginnings are frequent.
        #[test]
        fn certain_text_grows_to_the_text_and_shows_no_part_of_a_stop(
            pieces in prop::collection::vec("[ab采]{0,4}", 0..12),
            stops in prop::collection::vec("[ab采]{0,4}", 0..3),
        ) {
            let mut text = StopText::new(&stops);
            let (mut shown, mut all) = (String::new(), String::new());
            let mut stopped = false;
            for piece in &pieces {
                all.push_str(piece);
                stopped = text.push(piece);
                prop_assert!(text.certain().starts_with(&shown));
                if stopped {
                    prop_assert_eq!(text.certain(), &text.text, "nothing follows");
                    break;
                }
                shown = text.certain().to_owned();
                // What is held back may become a stop, and no longer end may.
                let held = &all[shown.len()..];
                prop_assert!(held.is_empty() || stops.iter().any(|stop| stop.starts_with(held)));
            }
            let ends = stops.iter().filter(|stop| !stop.is_empty());
            let first = ends.filter_map(|stop| all.find(stop.as_str())).min();
            prop_assert_eq!(stopped, first.is_some());
            prop_assert!(first.is_none_or(|at| shown.len() <= at));
            let whole = text.into_text();
            prop_assert!(whole.starts_with(&shown));
            prop_assert_eq!(whole, &all[..first.unwrap_or(all.len())]);
        }
    }

    #[test]
    fn letters_of_several_bytes_before_a_stop_do_no_harm() {
        assert_eq!(run(&["终"], &["采样", "é终x"]), ("采样é".to_owned(), Some(1)));
    }
}
