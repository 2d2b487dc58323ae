//! The last section of a model card: pass@k that was measured after the training.

use super::escape::code;

/// The heading of the section. It is the last one, so that it can be written again.
const HEADING: &str = "## Evaluation";

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

/// A card with these evaluations as its last section, in place of others.
pub fn with_evaluations(card: &str, all: &[Measured]) -> String {
    let marker = format!("\n{HEADING}\n");
    let before = card.rfind(&marker).map_or(card, |at| &card[..at]).trim_end();
    format!("{before}\n\n{}", section(all))
}

/// The section.
pub(super) fn section(all: &[Measured]) -> String {
    if all.is_empty() {
        return format!("{HEADING}\n\n{NONE}");
    }
    let mut text = format!("{HEADING}\n");
    for Measured { what, tasks, samples, suite, rows } in all {
        text += &format!("\n{}: {tasks} tasks, {samples} samples of each", code(what));
        if let Some(suite) = suite {
            text += &format!(", tasks with the digest {}", code(suite));
        }
        text += ".\n\n| figure | value | 95 % interval |\n|---|---:|---:|\n";
        for Row { name, value, low, high } in rows {
            let [value, low, high] = [value, low, high].map(|part| 100.0 * part);
            text += &format!("| {name} | {value:.1} % | {low:.1} to {high:.1} % |\n");
        }
    }
    text
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
            suite: None,
            rows: vec![row],
        };
        let card = format!("# Title\n\n{}", section(&[]));
        let once = with_evaluations(&card, std::slice::from_ref(&measured));
        assert_eq!(
            once,
            "# Title\n\n## Evaluation\n\n``a`\\u{a}## Evaluation\\u{a}|<b>``: 8 tasks, 4 samples of each.\n\n\
             | figure | value | 95 % interval |\n|---|---:|---:|\n| pass@1 | 25.0 % | 12.5 to 50.0 % |\n"
        );
        assert_eq!(with_evaluations(&once, &[measured]), once);
        assert_eq!(with_evaluations(&once, &[]), card);
    }
}
