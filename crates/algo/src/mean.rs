//! A mean as a sum and a count, so that those of micro-batches can be merged.

use crate::number;

/// A sum, and of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// Takes one more number in.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// Takes in what another has seen.
    pub fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The mean; `None` without values.
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / number(self.count))
    }

    /// The number of values.
    pub fn count(self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_whole() {
        let (mut left, mut right) = (Mean::default(), Mean::default());
        assert_eq!(left.get(), None);
        left.add(1.0);
        left.add(2.0);
        right.add(6.0);
        right.add(7.0);
        left.merge(right);
        assert_eq!((left.get(), left.count()), (Some(4.0), 4));
    }
}
