//! The dense tableau against microlp.

use super::*;
use crate::limits::Limits;
use crate::model::{Kind, Objective, Term};
use crate::simplex::{Precision, microlp};
use crate::view::{Column, RowView};

/// `SplitMix64`.
struct Random(u64);

impl Random {
    /// A whole number from 0 to `most`.
    fn whole(&mut self, most: u32) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((bits ^ (bits >> 31)) >> 40).expect("24 bits");
        f64::from(bits % (most + 1))
    }

    fn count(&mut self, most: u32) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small whole number"
        )]
        let count = self.whole(most) as usize;
        count
    }

    fn signed(&mut self, most: u32) -> f64 {
        self.whole(2 * most) - f64::from(most)
    }

    /// Limits of any shape: both, one, none, the same twice.
    fn limits(&mut self) -> [f64; 2] {
        let (low, range) = (self.signed(12), self.whole(9));
        match self.0 % 6 {
            0 => [low, low + range],
            1 => [low, low],
            2 => [f64::NEG_INFINITY, low],
            3 => [f64::NEG_INFINITY, f64::INFINITY],
            _ => [low, f64::INFINITY],
        }
    }

    fn terms(&mut self, columns: usize) -> Vec<Term> {
        let terms = (0..columns).map(|variable| Term { variable, coefficient: self.signed(5) });
        terms.filter(|term| term.coefficient.abs() > 1.0).collect()
    }

    fn columns(&mut self, count: usize) -> Vec<Column> {
        let column = |_| {
            let cost = self.signed(6);
            let [lower, upper] = self.limits();
            Column { cost, lower, upper, kind: Kind::Continuous }
        };
        (0..count).map(column).collect()
    }
}

/// The kind of an answer, and the objective of a point.
fn summary(view: &View<'_>, answer: &Answer) -> (&'static str, f64) {
    match answer {
        Answer::Infeasible => ("infeasible", 0.0),
        Answer::Unbounded => ("unbounded", 0.0),
        Answer::Point(values) => {
            let products = view.columns.iter().zip(values);
            ("point", products.map(|(column, value)| column.cost * value).sum())
        }
    }
}

#[test]
fn microlp_gives_the_same_answers() {
    let mut counts = std::collections::BTreeMap::new();
    let mut random = Random(7);
    for case in 0..3_000 {
        let columns = 1 + random.count(11);
        let terms: Vec<Vec<Term>> = (0..=random.count(13)).map(|_| random.terms(columns)).collect();
        let rows = terms.iter().map(|terms| {
            let [lower, upper] = random.limits();
            RowView { terms, lower, upper }
        });
        let rows = rows.collect();
        let objective =
            if random.whole(1) > 0.0 { Objective::Maximize } else { Objective::Minimize };
        let view = View { objective, columns: random.columns(columns), rows };
        let Some(answer) = run(&view, 1e-9) else {
            *counts.entry("none").or_insert(0) += 1;
            continue;
        };
        let expected = microlp(&view, &Limits::default(), Precision::Usual);
        let expected = expected.expect("an answer of microlp");
        let (kind, objective) = summary(&view, &answer);
        let (expected_kind, expected_objective) = summary(&view, &expected);
        assert_eq!(kind, expected_kind, "case {case}");
        let distance = (objective - expected_objective).abs();
        assert!(distance <= 1e-6 * (1.0 + expected_objective.abs()), "case {case}: {distance}");
        *counts.entry(kind).or_insert(0) += 1;
    }
    assert!(counts.get("none").copied().unwrap_or(0) <= 15, "{counts:?}");
    assert!(
        ["point", "infeasible", "unbounded"].iter().all(|kind| counts[kind] > 100),
        "{counts:?}"
    );
}

#[test]
fn a_degenerate_program_on_which_the_steepest_rule_cycles_ends() {
    // Beale's example (1955): minimum -1/20.
    let rows = [
        vec![(0, 0.25), (1, -60.0), (2, -1.0 / 25.0), (3, 9.0)],
        vec![(0, 0.5), (1, -90.0), (2, -1.0 / 50.0), (3, 3.0)],
        vec![(2, 1.0)],
    ];
    let terms = rows.map(|row| {
        row.into_iter().map(|(variable, coefficient)| Term { variable, coefficient }).collect()
    });
    let terms: [Vec<Term>; 3] = terms;
    let limits = [0.0, 0.0, 1.0];
    let rows = terms.iter().zip(limits);
    let rows = rows.map(|(terms, upper)| RowView { terms, lower: f64::NEG_INFINITY, upper });
    let costs = [-0.75, 150.0, -0.02, 6.0];
    let columns =
        costs.map(|cost| Column { cost, lower: 0.0, upper: f64::INFINITY, kind: Kind::Continuous });
    let view =
        View { objective: Objective::Minimize, columns: columns.to_vec(), rows: rows.collect() };
    let (kind, objective) = summary(&view, &run(&view, 1e-9).expect("an answer"));
    assert_eq!(kind, "point");
    assert!((objective + 0.05).abs() < 1e-9, "{objective}");
}

#[test]
fn a_view_with_integers_or_too_many_entries_has_no_answer_here() {
    let column = Column { cost: 1.0, lower: 0.0, upper: 9.0, kind: Kind::Integer };
    let view = View { objective: Objective::Minimize, columns: vec![column], rows: Vec::new() };
    assert!(run(&view, 1e-9).is_none());
    let row = RowView { terms: &[], lower: 0.0, upper: 1.0 };
    let view = View { columns: vec![column; 300], rows: vec![row; 300], ..view }.relaxed();
    assert!(run(&view, 1e-9).is_none());
}
