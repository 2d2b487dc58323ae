//! Verdicts on random models.

use std::time::Duration;
use whetstone_solver::*;

pub(crate) struct Rng(pub u64);
impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(crate) fn whole(&mut self, a: i64, b: i64) -> f64 {
        (a + self.below((b - a + 1) as u64) as i64) as f64
    }
}

pub(crate) fn model(rng: &mut Rng, integers: bool) -> Model {
    let mut m =
        Model::new(if rng.below(2) == 0 { Objective::Minimize } else { Objective::Maximize });
    let n = 2 + rng.below(8) as usize;
    for j in 0..n {
        let (lower, upper) = match rng.below(5) {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            1 => (rng.whole(-6, 0), f64::INFINITY),
            2 => (3.0, 3.0),
            _ => (0.0, rng.whole(1, 10)),
        };
        m.variables.push(Variable {
            name: format!("x{j}"),
            cost: rng.whole(-8, 8),
            lower,
            upper,
            kind: if integers && rng.below(2) == 0 { Kind::Integer } else { Kind::Continuous },
        });
    }
    let rows = 1 + rng.below(14) as usize;
    for i in 0..rows {
        let mut terms = Vec::new();
        for j in 0..n {
            if rng.below(5) < 2 {
                let c = rng.whole(-7, 7);
                if c != 0.0 {
                    terms.push(Term { variable: j, coefficient: c });
                }
            }
        }
        let b = rng.whole(-20, 20);
        let (lower, upper) = match rng.below(6) {
            0 => (b, b),
            1 => (b, b + rng.whole(1, 9)),
            2 | 3 => (f64::NEG_INFINITY, b),
            _ => (b, f64::INFINITY),
        };
        m.rows.push(Row { name: format!("r{i}"), terms, lower, upper });
    }
    m
}

fn without(model: &Model, member: Member) -> Model {
    let mut m = model.clone();
    match member {
        Member::Row(i) => {
            m.rows[i].lower = f64::NEG_INFINITY;
            m.rows[i].upper = f64::INFINITY;
        }
        Member::LowerBound(j) => m.variables[j].lower = f64::NEG_INFINITY,
        Member::UpperBound(j) => m.variables[j].upper = f64::INFINITY,
    }
    m
}
fn only(model: &Model, members: &[Member]) -> Model {
    let mut m = model.clone();
    for i in 0..m.rows.len() {
        if !members.contains(&Member::Row(i)) {
            m = without(&m, Member::Row(i));
        }
    }
    for j in 0..m.variables.len() {
        m.variables[j].cost = 0.0;
        if !members.contains(&Member::LowerBound(j)) {
            m = without(&m, Member::LowerBound(j));
        }
        if !members.contains(&Member::UpperBound(j)) {
            m = without(&m, Member::UpperBound(j));
        }
    }
    m
}

fn survey(integers: bool, count: u64) {
    let limits = Limits { time: Duration::from_secs(5), max_nodes: 2000, ..Limits::default() };
    let mut counts = [0; 6];
    for seed in 0..count {
        let m = model(&mut Rng(seed), integers);
        match solve(&m, &limits) {
            Ok(Verdict::Optimal(o)) => {
                counts[0] += 1;
                if o.feasibility == Feasibility::Exact {
                    counts[4] += 1;
                }
            }
            Ok(Verdict::Unbounded(_)) => counts[1] += 1,
            Ok(Verdict::Infeasible(i)) => {
                counts[2] += 1;
                if matches!(i.proof, InfeasibilityProof::Integer { .. }) {
                    counts[5] += 1;
                }
                let all = only(&m, &i.members);
                for member in &i.members {
                    match solve(&without(&all, *member), &limits) {
                        Ok(Verdict::Optimal(_)) => (),
                        other => println!(
                            "seed {seed}: without {member:?} of {:?}: {other:?}",
                            i.members
                        ),
                    }
                }
            }
            Err(e) => {
                counts[3] += 1;
                println!("seed {seed}: {e}");
            }
        }
    }
    println!(
        "{integers}: optimal {} (exact {}) unbounded {} infeasible {} (integer {}) errors {}",
        counts[0], counts[4], counts[1], counts[2], counts[5], counts[3]
    );
}

#[test]
fn lp() {
    survey(false, 2000);
}
#[test]
fn mip() {
    survey(true, 1000);
}
