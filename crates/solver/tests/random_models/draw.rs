//! Small random models of any shape.

use whetstone_solver::{Kind, Model, Objective, Row, Term, Variable};

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, count: u32) -> u32 {
        u32::try_from(self.next() % u64::from(count)).expect("below 2^32")
    }

    /// A whole number from `-radius` to `radius`.
    fn whole(&mut self, radius: u32) -> f64 {
        f64::from(self.below(2 * radius + 1)) - f64::from(radius)
    }
}

/// A small model of any shape: equations, ranges, free and fixed variables.
pub(crate) fn model(seed: u64, integers: Kind) -> Model {
    let mut random = Random(seed);
    let objective = [Objective::Minimize, Objective::Maximize][random.below(2) as usize];
    let mut model = Model::new(objective);
    let variables = 2 + random.below(8);
    for index in 0..variables {
        model.variables.push(variable(index, integers, &mut random));
    }
    for index in 0..=random.below(14) {
        model.rows.push(row(index, variables, &mut random));
    }
    model
}

fn variable(index: u32, integers: Kind, random: &mut Random) -> Variable {
    let is_mixed = integers == Kind::Integer;
    let (lower, upper) = match random.below(5) {
        0 if is_mixed => (-4.0, 4.0),
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        1 if is_mixed => (random.whole(6), 7.0),
        1 => (random.whole(6), f64::INFINITY),
        2 => (3.0, 3.0),
        _ => (0.0, 1.0 + f64::from(random.below(10))),
    };
    let kind = if random.below(2) == 0 { integers } else { Kind::Continuous };
    Variable { name: format!("x{index}"), cost: random.whole(8), lower, upper, kind }
}

fn row(index: u32, variables: u32, random: &mut Random) -> Row {
    let mut terms = Vec::new();
    for variable in 0..variables {
        let coefficient = random.whole(7);
        if random.below(5) < 2 && coefficient != 0.0 {
            terms.push(Term { variable: variable as usize, coefficient });
        }
    }
    let limit = random.whole(20);
    let (lower, upper) = match random.below(6) {
        0 => (limit, limit),
        1 => (limit, limit + 1.0 + f64::from(random.below(9))),
        2 | 3 => (f64::NEG_INFINITY, limit),
        _ => (limit, f64::INFINITY),
    };
    Row { name: format!("r{index}"), terms, lower, upper }
}
