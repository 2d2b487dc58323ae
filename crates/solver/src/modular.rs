//! The null vector of a matrix of whole numbers, by arithmetic modulo a prime (Dixon, 1982).
//!
//! Exact elimination lets entries grow up to the size of the answer in every step, which is slow where a matrix is
//! dense. Here the matrix is inverted modulo one prime, the solution is computed digit by digit to that base, and the
//! fractions are found from enough digits. Whatever comes out is multiplied with the matrix before it is believed, so
//! an unlucky prime or too few digits cost an answer, never its truth.

use num_bigint::BigInt;
use num_integer::Integer;

use crate::elimination::SparseRow;
use crate::whole::{Whole, reduce};

/// A prime: reduction is a shift and an addition.
const PRIME: u64 = (1 << 61) - 1;

/// The largest entry: with it and [`MAX_COLUMNS`] a product of a row and digits is below 2^127.
const MAX_ENTRY: i128 = 1 << 50;

/// The fewest columns: on smaller matrices elimination is faster.
const MIN_COLUMNS: usize = 20;

/// The most columns: inversion takes the cube of it.
const MAX_COLUMNS: usize = 400;

/// The numbers of digits that are tried.
const DIGITS: [usize; 4] = [4, 8, 16, 32];

/// The vector `v` with `M v = 0`, up to a factor; `None` if there are several, only 0, or if elimination is better here.
pub(crate) fn null_vector(rows: &[SparseRow<i128>], columns: usize) -> Option<Vec<BigInt>> {
    if columns < MIN_COLUMNS { None } else { find(rows, columns) }
}

fn find(rows: &[SparseRow<i128>], columns: usize) -> Option<Vec<BigInt>> {
    let entries = rows.iter().flatten();
    if columns > MAX_COLUMNS || entries.into_iter().any(|(_, entry)| entry.abs() > MAX_ENTRY) {
        return None;
    }
    let pivots = Pivots::of(rows, columns)?;
    let mut lifting = Lifting::new(rows, &pivots);
    DIGITS.iter().find_map(|digits| {
        lifting.extend_to(*digits);
        let mut vector = lifting.fractions(&pivots)?;
        reduce(&mut vector);
        rows.iter().all(|row| is_orthogonal(row, &vector)).then_some(vector)
    })
}

fn is_orthogonal(row: &SparseRow<i128>, vector: &[BigInt]) -> bool {
    let products = row.iter().map(|(column, entry)| &vector[*column] * *entry);
    products.sum::<BigInt>().is_zero()
}

/// A square part of full rank, and its inverse modulo the prime.
struct Pivots {
    /// Rows of the matrix, as many as the part has columns.
    rows: Vec<usize>,
    /// Columns of the part.
    columns: Vec<usize>,
    /// The one other column.
    free: usize,
    /// Row by row: the solution of `part · x = b` is this matrix times `b`.
    inverse: Vec<Vec<u64>>,
}

impl Pivots {
    /// Chooses rows one after the other; `None` unless exactly one column is left over.
    fn of(rows: &[SparseRow<i128>], columns: usize) -> Option<Self> {
        let chosen = independent_rows(rows, columns);
        if chosen.len() + 1 != columns {
            return None;
        }
        let rank = chosen.len();
        let mut is_pivot = vec![false; columns];
        for row in &chosen {
            is_pivot[row.pivot] = true;
        }
        let free = is_pivot.iter().position(|is_pivot| !is_pivot)?;
        let pivot_columns: Vec<usize> = (0..columns).filter(|column| *column != free).collect();
        let mut augmented: Vec<Vec<u64>> = Vec::with_capacity(rank);
        for (place, row) in chosen.iter().enumerate() {
            let mut dense = vec![0; 2 * rank];
            for (column, entry) in &rows[row.index] {
                if *column != free {
                    dense[if *column > free { *column - 1 } else { *column }] = residue(*entry);
                }
            }
            dense[rank + place] = 1;
            augmented.push(dense);
        }
        let inverse = invert(augmented)?;
        let rows = chosen.iter().map(|row| row.index).collect();
        Some(Self { rows, columns: pivot_columns, free, inverse })
    }
}

/// A row of the matrix that the earlier ones do not span.
struct Independent {
    index: usize,
    pivot: usize,
    /// The row without the pivots of earlier ones, 1 at its own.
    reduced: Vec<u64>,
}

fn independent_rows(rows: &[SparseRow<i128>], columns: usize) -> Vec<Independent> {
    let mut found: Vec<Independent> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if found.len() + 1 == columns {
            break;
        }
        let mut reduced = vec![0; columns];
        for (column, entry) in row {
            reduced[*column] = residue(*entry);
        }
        for earlier in &found {
            subtract(&mut reduced, &earlier.reduced, earlier.pivot);
        }
        // The last column is left over where possible: it holds the limits.
        let Some(pivot) = reduced.iter().position(|entry| *entry != 0) else { continue };
        let inverse = power(reduced[pivot], PRIME - 2);
        for entry in &mut reduced {
            *entry = product(*entry, inverse);
        }
        found.push(Independent { index, pivot, reduced });
    }
    found
}

/// Gauss and Jordan: `[A | 1]` becomes `[1 | A^-1]`, of which the right half is given.
fn invert(mut rows: Vec<Vec<u64>>) -> Option<Vec<Vec<u64>>> {
    let rank = rows.len();
    for column in 0..rank {
        let found = (column..rank).find(|row| rows[*row][column] != 0)?;
        rows.swap(column, found);
        let inverse = power(rows[column][column], PRIME - 2);
        rows[column].iter_mut().for_each(|entry| *entry = product(*entry, inverse));
        let pivot = std::mem::take(&mut rows[column]);
        rows.iter_mut().filter(|row| !row.is_empty()).for_each(|row| {
            subtract(row, &pivot, column);
        });
        rows[column] = pivot;
    }
    Some(rows.into_iter().map(|mut row| row.split_off(rank)).collect())
}

/// Takes so much of another row out of a row that its entry in a column, 1 in the other, is 0.
fn subtract(row: &mut [u64], other: &[u64], column: usize) {
    if row[column] == 0 {
        return;
    }
    let factor = PRIME - row[column];
    let pairs = row.iter_mut().zip(other).filter(|(_, by)| **by != 0);
    pairs.for_each(|(entry, by)| *entry = sum(*entry, product(factor, *by)));
}

/// The digits of `x` in `part · x = -free column`.
struct Lifting<'a> {
    rows: Vec<&'a SparseRow<i128>>,
    /// What the digits so far leave, divided by the power of the prime.
    rest: Vec<i128>,
    inverse: &'a [Vec<u64>],
    free: usize,
    /// The numbers that the digits make.
    values: Vec<BigInt>,
    /// The prime to the number of digits.
    modulus: BigInt,
    digits: usize,
}

impl<'a> Lifting<'a> {
    fn new(rows: &'a [SparseRow<i128>], pivots: &'a Pivots) -> Self {
        let rows: Vec<&SparseRow<i128>> = pivots.rows.iter().map(|row| &rows[*row]).collect();
        let free = |row: &&SparseRow<i128>| {
            let entry = row.iter().find(|(column, _)| *column == pivots.free);
            entry.map_or(0, |(_, entry)| -entry)
        };
        let rest = rows.iter().map(free).collect();
        Self {
            rest,
            rows,
            inverse: &pivots.inverse,
            free: pivots.free,
            values: vec![BigInt::ZERO; pivots.columns.len()],
            modulus: BigInt::from(1),
            digits: 0,
        }
    }

    fn extend_to(&mut self, digits: usize) {
        while self.digits < digits {
            let rest: Vec<u64> = self.rest.iter().map(|rest| residue(*rest)).collect();
            let digit: Vec<u64> = self.inverse.iter().map(|row| dot(row, &rest)).collect();
            for (row, rest) in self.rows.iter().zip(&mut self.rest) {
                let terms = row.iter().filter(|(column, _)| *column != self.free);
                let place = |column: usize| if column > self.free { column - 1 } else { column };
                let sum: i128 =
                    terms.map(|(column, entry)| entry * i128::from(digit[place(*column)])).sum();
                *rest = (*rest - sum) / i128::from(PRIME);
            }
            for (value, digit) in self.values.iter_mut().zip(digit) {
                *value += &self.modulus * digit;
            }
            self.modulus *= PRIME;
            self.digits += 1;
        }
    }

    /// The numbers as fractions with one denominator, which is the entry of the free column.
    fn fractions(&self, pivots: &Pivots) -> Option<Vec<BigInt>> {
        let bound: BigInt = &self.modulus / 2_u32;
        let bound = bound.sqrt();
        let mut denominator = BigInt::from(1);
        let mut vector = vec![BigInt::ZERO; pivots.columns.len() + 1];
        for (column, value) in pivots.columns.iter().zip(&self.values) {
            let scaled = symmetric(&(value * &denominator), &self.modulus);
            if scaled.magnitude() <= bound.magnitude() {
                vector[*column] = scaled;
                continue;
            }
            let fraction = fraction(&scaled, &self.modulus, &bound)?;
            for entry in &mut vector {
                *entry *= &fraction.denominator;
            }
            denominator *= fraction.denominator;
            vector[*column] = fraction.numerator;
        }
        vector[pivots.free] = denominator;
        Some(vector)
    }
}

struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

/// The fraction with small numerator and denominator that a residue stands for, by Euclid's algorithm.
fn fraction(residue: &BigInt, modulus: &BigInt, bound: &BigInt) -> Option<Fraction> {
    let (mut large, mut small) = (modulus.clone(), residue.mod_floor(modulus));
    let (mut before, mut factor) = (BigInt::ZERO, BigInt::from(1));
    while &small > bound {
        let (quotient, rest) = large.div_rem(&small);
        large = std::mem::replace(&mut small, rest);
        let next = &before - &quotient * &factor;
        before = std::mem::replace(&mut factor, next);
    }
    if factor.magnitude() > bound.magnitude() || factor.is_zero() {
        return None;
    }
    if factor.is_positive() {
        Some(Fraction { numerator: small, denominator: factor })
    } else {
        Some(Fraction { numerator: -small, denominator: -factor })
    }
}

/// The residue nearest to 0.
fn symmetric(value: &BigInt, modulus: &BigInt) -> BigInt {
    let value = value.mod_floor(modulus);
    if &value * 2_u32 > *modulus { value - modulus } else { value }
}

#[expect(clippy::cast_possible_truncation, reason = "0 to PRIME - 1")]
fn residue(value: i128) -> u64 {
    value.rem_euclid(i128::from(PRIME)) as u64
}

fn sum(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

#[expect(clippy::cast_possible_truncation, reason = "61 bits each")]
fn product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    sum((product as u64) & PRIME, (product >> 61) as u64)
}

fn dot(row: &[u64], vector: &[u64]) -> u64 {
    row.iter().zip(vector).fold(0, |so_far, (a, b)| sum(so_far, product(*a, *b)))
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, base);
        }
        base = product(base, base);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::NullSpace;

    /// Rows with a few entries up to a size, from a seed.
    fn random_rows(count: usize, columns: usize, seed: u64) -> Vec<SparseRow<i128>> {
        let mut state = seed;
        let mut next = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut row = |_| {
            let entries = (0..columns).map(|column| (column, i128::from(next(19)) - 9));
            entries.filter(|(_, entry)| *entry != 0).collect()
        };
        (0..count).map(&mut row).collect()
    }

    fn by_elimination(rows: &[SparseRow<i128>], columns: usize) -> Option<Vec<BigInt>> {
        let big = |row: &SparseRow<i128>| {
            row.iter().map(|(column, entry)| (*column, BigInt::from(*entry))).collect()
        };
        let space = NullSpace::of(rows.iter().map(big).collect(), columns)?;
        (space.free.len() == 1).then(|| space.vector(&[BigInt::from(1)]))?
    }

    fn same_direction(mut a: Vec<BigInt>, mut b: Vec<BigInt>) -> bool {
        for vector in [&mut a, &mut b] {
            let first = vector.iter().find(|entry| !entry.is_zero()).cloned();
            if first.is_some_and(|first| !first.is_positive()) {
                for entry in vector.iter_mut() {
                    *entry = -entry.clone();
                }
            }
        }
        a == b
    }

    #[test]
    fn elimination_finds_the_same_vector() {
        for seed in 0..60 {
            let columns = 2 + seed % 29;
            let rows = random_rows(columns - 1 + seed % 2, columns, seed as u64);
            let expected = by_elimination(&rows, columns);
            let found = find(&rows, columns);
            assert_eq!(expected.is_some(), found.is_some(), "seed {seed}");
            if let (Some(expected), Some(found)) = (expected, found) {
                assert!(same_direction(expected, found), "seed {seed}");
            }
        }
    }

    #[test]
    fn rows_that_follow_from_others_do_not_matter() {
        let mut rows = random_rows(7, 8, 3);
        let twice = rows[2].iter().map(|(column, entry)| (*column, 2 * entry)).collect();
        rows.insert(3, twice);
        assert!(
            find(&rows, 8).is_some_and(|vector| rows.iter().all(|row| is_orthogonal(row, &vector)))
        );
    }

    #[test]
    fn a_matrix_with_several_null_vectors_or_none_has_no_answer() {
        assert_eq!(find(&random_rows(5, 8, 1), 8), None);
        assert_eq!(find(&random_rows(8, 8, 1), 8), None);
    }

    #[test]
    fn entries_that_are_multiples_of_the_prime_cost_the_answer_only() {
        // 0 modulo the prime, so the rank is not seen; entries of this size are refused before.
        let rows = vec![vec![(0, i128::from(PRIME)), (1, 1)]];
        assert_eq!(find(&rows, 2), None);
    }
}
