//! A section of a model card: pass@k that was measured after the training.
//!
//! Comments that no reader sees mark it, so that it can be written again in a card that others have written in, or
//! that has a section of the same name.

use super::escape::code;
use std::fmt::Write as _;

const HEADING: &str = "## Evaluation";

/// The lines around the section.
const BEGIN: &str = "<!-- whet: evaluations -->\n";
const END: &str = "<!-- whet: end of evaluations -->\n";

const NONE: &str = "\
No evaluation is recorded here. `whet eval --tasks FILE --model DIR --out eval/NAME` measures pass@k, and \
`whet export DIR --eval eval/NAME --out NEW` writes the table into the card.\n";

/// An evaluation that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What was measured, e.g. the model's name.
    pub what: String,
    /// Tasks and samples of each.
    pub tasks: u64,
    /// See `tasks`.
    pub samples: u64,
    /// How it was sampled, in words; empty if that is said elsewhere.
    pub how: String,
    /// The digest of the suite, if it is known.
    pub suite: Option<String>,
    /// Rows of the table.
    pub rows: Vec<Row>,
}

/// A figure with its 95 % interval, as parts of 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, e.g. `pass@1`.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A card with these evaluations in place of those that `whet` wrote before, or at its end.
pub fn with_evaluations(card: &str, all: &[Measured]) -> String {
    let begin = card.find(BEGIN);
    let end = card.rfind(END).map(|at| at + END.len());
    let (before, after) = match (begin, end) {
        (Some(begin), Some(end)) if begin < end => (&card[..begin], &card[end..]),
        _ => (card, ""),
    };
    format!("{}\n\n{}{after}", before.trim_end(), section(all))
}

/// The section.
pub(super) fn section(all: &[Measured]) -> String {
    if all.is_empty() {
        return format!("{BEGIN}{HEADING}\n\n{NONE}{END}");
    }
    let mut text = format!("{BEGIN}{HEADING}\n");
    for Measured { what, tasks, samples, how, suite, rows } in all {
        let _ = write!(text, "\n{}: {tasks} tasks, {samples} samples of each", code(what));
        if !how.is_empty() {
            let _ = write!(text, "; {}", code(how));
        }
        if let Some(suite) = suite {
            let _ = write!(text, ", tasks with the digest {}", code(suite));
        }
        text += ".\n\n| figure | value | 95 % interval |\n|---|---:|---:|\n";
        for Row { name, value, low, high } in rows {
            let [value, low, high] = [value, low, high].map(|part| 100.0 * part);
            let _ = writeln!(text, "| {name} | {value:.1} % | {low:.1} to {high:.1} % |");
        }
    }
    text + END
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_is_replaced_and_names_stay_text() {
        let row = Row { name: "pass@1".to_owned(), value: 0.25, low: 0.125, high: 0.5 };
        let measured = Measured {
            what: "a`\n## Evaluation\n|<b>".to_owned(),
            tasks: 8,
            samples: 4,
            how: String::new(),
            suite: None,
            rows: vec![row],
        };
        let card = format!("# Title\n\n{}", section(&[]));
        let once = with_evaluations(&card, std::slice::from_ref(&measured));
        assert_eq!(
            once,
            "# Title\n\n<!-- whet: evaluations -->\n## Evaluation\n\n\
             ``a`\\u{a}## Evaluation\\u{a}|<b>``: 8 tasks, 4 samples of each.\n\n\
             | figure | value | 95 % interval |\n|---|---:|---:|\n| pass@1 | 25.0 % | 12.5 to 50.0 % |\n\
             <!-- whet: end of evaluations -->\n"
        );
        assert_eq!(with_evaluations(&once, &[measured]), once);
        assert_eq!(with_evaluations(&once, &[]), card);
    }

    #[test]
    fn what_others_wrote_around_it_stays() {
        let theirs = "# Model\n\n## Evaluation\n\nGood.\n\n## Citation\n\nUs.\n";
        let once = with_evaluations(theirs, &[]);
        assert_eq!(once, format!("{theirs}\n{}", section(&[])));
        let more = format!("{once}\n## Limits\n\nMany.\n");
        assert_eq!(with_evaluations(&more, &[]), more);
        let turned = format!("{END}a\n{BEGIN}");
        let whole = with_evaluations(&turned, &[]);
        assert!(whole.starts_with(turned.trim_end()), "marks in the wrong order are text: {whole}");
    }
}
