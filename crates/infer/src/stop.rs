//! When a completion's text has reached one of the texts that end it.

/// Text so far, and what would end it.
#[derive(Debug)]
pub(crate) struct StopText {
    text: String,
    stops: Vec<String>,
    longest: usize,
}

impl StopText {
    pub(crate) fn new(stops: &[String]) -> Self {
        let longest = stops.iter().map(String::len).max().unwrap_or(0);
        Self { text: String::new(), stops: stops.to_vec(), longest }
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
        }
        first.is_some()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn letters_of_several_bytes_before_a_stop_do_no_harm() {
        assert_eq!(run(&["终"], &["采样", "é终x"]), ("采样é".to_owned(), Some(1)));
    }
}
