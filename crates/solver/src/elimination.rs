//! The null space of a sparse matrix of whole numbers, exactly.
//!
//! Gaussian elimination on rows that are divided by their greatest common divisor after each step. Up to scale a
//! row after `k` steps is determined by the `k` pivots, so its entries divide those of Bareiss's fraction-free
//! elimination and obey the same bound (Hadamard's, on minors of the matrix); unlike there, a row without an
//! entry in the pivot column stays as it is, which keeps a sparse matrix sparse.

use crate::whole::{Whole, reduce};

/// A sparse row: column and entry, ordered by column, no zeros.
pub(crate) type SparseRow<T> = Vec<(usize, T)>;

/// The solutions of `M y = 0`, by columns that are free and columns that follow from them.
pub(crate) struct NullSpace<T> {
    columns: usize,
    /// The columns whose values can be chosen: as many as the null space has dimensions.
    pub(crate) free: Vec<usize>,
    /// In the order of elimination: a row has no pivot column of an earlier one.
    pivots: Vec<Pivot<T>>,
}

struct Pivot<T> {
    column: usize,
    row: SparseRow<T>,
}

impl<T: Whole> NullSpace<T> {
    /// Eliminates; `None` is an overflow.
    pub(crate) fn of(rows: Vec<SparseRow<T>>, columns: usize) -> Option<Self> {
        Self::eliminated(rows, vec![0; columns])
    }

    /// Eliminates with the last column free unless a row has nothing else.
    pub(crate) fn with_last_free(rows: Vec<SparseRow<T>>, columns: usize) -> Option<Self> {
        let mut counts = vec![0; columns];
        // Columns with many entries come last in the choice of a pivot.
        counts[columns - 1] = usize::MAX / 2;
        Self::eliminated(rows, counts)
    }

    fn eliminated(mut rows: Vec<SparseRow<T>>, mut counts: Vec<usize>) -> Option<Self> {
        let columns = counts.len();
        rows.iter().flatten().for_each(|(column, _)| counts[*column] += 1);
        let mut pivots: Vec<Pivot<T>> = Vec::new();
        rows.retain(|row| !row.is_empty());
        while let Some(pivot) = take_pivot(&mut rows, &mut counts) {
            eliminate(&mut rows, &pivot, &mut counts)?;
            rows.retain(|row| !row.is_empty());
            pivots.push(pivot);
        }
        let mut is_free = vec![true; columns];
        for pivot in &pivots {
            is_free[pivot.column] = false;
        }
        let free = (0..columns).filter(|column| is_free[*column]).collect();
        Some(Self { columns, free, pivots })
    }

    /// The null vector with these values of the free columns, up to a positive factor.
    pub(crate) fn vector(&self, free_values: &[T]) -> Option<Vec<T>> {
        let mut vector = vec![T::small(0); self.columns];
        for (column, value) in self.free.iter().zip(free_values) {
            vector[*column] = value.clone();
        }
        for pivot in self.pivots.iter().rev() {
            substitute(pivot, &mut vector)?;
        }
        reduce(&mut vector);
        Some(vector)
    }
}

/// The shortest row, and in it the column with the fewest entries: Markowitz's rule against fill-in, roughly.
fn take_pivot<T: Whole>(rows: &mut Vec<SparseRow<T>>, counts: &mut [usize]) -> Option<Pivot<T>> {
    let shortest = (0..rows.len()).min_by_key(|index| rows[*index].len())?;
    let row = rows.swap_remove(shortest);
    count_out(counts, &row);
    let (column, _) = row.iter().min_by_key(|(column, _)| counts[*column])?;
    Some(Pivot { column: *column, row })
}

fn eliminate<T: Whole>(
    rows: &mut [SparseRow<T>],
    pivot: &Pivot<T>,
    counts: &mut [usize],
) -> Option<()> {
    let head = entry(&pivot.row, pivot.column)?;
    for row in rows {
        let Some(own) = entry(row, pivot.column) else { continue };
        let divisor = head.gcd_with(&own);
        let (keep, subtract) = (head.over(&divisor), own.over(&divisor).negated());
        let combined =
            combine(&Scaled { row, by: &keep }, &Scaled { row: &pivot.row, by: &subtract })?;
        count_out(counts, row);
        *row = combined;
        count_in(counts, row);
    }
    Some(())
}

/// Adds the entries of a row to the counts by column.
pub(crate) fn count_in<T>(counts: &mut [usize], row: &SparseRow<T>) {
    for (column, _) in row {
        counts[*column] += 1;
    }
}

/// Takes the entries of a row out of the counts by column.
pub(crate) fn count_out<T>(counts: &mut [usize], row: &SparseRow<T>) {
    for (column, _) in row {
        counts[*column] -= 1;
    }
}

/// The entry of a row in a column.
pub(crate) fn entry<T: Whole>(row: &SparseRow<T>, column: usize) -> Option<T> {
    row.binary_search_by_key(&column, |(column, _)| *column).ok().map(|index| row[index].1.clone())
}

/// A row and its factor.
pub(crate) struct Scaled<'a, T> {
    pub(crate) row: &'a SparseRow<T>,
    pub(crate) by: &'a T,
}

/// The sum of two scaled rows, divided by its greatest common divisor.
pub(crate) fn combine<T: Whole>(
    first: &Scaled<'_, T>,
    second: &Scaled<'_, T>,
) -> Option<SparseRow<T>> {
    let mut sum = Vec::with_capacity(first.row.len() + second.row.len());
    let (mut left, mut right) = (first.row.iter().peekable(), second.row.iter().peekable());
    loop {
        let column = match (left.peek(), right.peek()) {
            (Some((a, _)), Some((b, _))) => *a.min(b),
            (Some((a, _)), None) => *a,
            (None, Some((b, _))) => *b,
            (None, None) => break,
        };
        let mut value = T::small(0);
        if let Some((_, entry)) = left.next_if(|(own, _)| *own == column) {
            value = value.plus(&entry.times(first.by)?)?;
        }
        if let Some((_, entry)) = right.next_if(|(own, _)| *own == column) {
            value = value.plus(&entry.times(second.by)?)?;
        }
        if !value.is_zero() {
            sum.push((column, value));
        }
    }
    reduce(sum.iter_mut().map(|(_, value)| value));
    Some(sum)
}

/// Sets the pivot's column so that the row's product with the vector is 0; scales the others up where the
/// division leaves a rest.
fn substitute<T: Whole>(pivot: &Pivot<T>, vector: &mut [T]) -> Option<()> {
    let mut rest = T::small(0);
    for (column, value) in pivot.row.iter().filter(|(column, _)| *column != pivot.column) {
        rest = rest.plus(&value.times(&vector[*column])?)?;
    }
    let mut head = entry(&pivot.row, pivot.column)?;
    if !head.is_positive() {
        (head, rest) = (head.negated(), rest.negated());
    }
    let divisor = head.gcd_with(&rest);
    let scale = head.over(&divisor);
    if !scale.equals_one() {
        for value in vector.iter_mut().filter(|value| !value.is_zero()) {
            *value = value.times(&scale)?;
        }
    }
    vector[pivot.column] = rest.over(&divisor).negated();
    Some(())
}
