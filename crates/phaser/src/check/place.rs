//! From an offset in the source to line and column.

/// A source with the offsets at which its lines start.
pub(super) struct Places<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

/// Line and column, from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl<'s> Places<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { source, starts }
    }

    pub(super) fn of(&self, offset: u32) -> Place {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.source.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line.saturating_sub(1)];
        let before = self.source.get(start..offset).unwrap_or_default().chars().count();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Place { line: number(line), column: number(before + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_and_columns_of_characters() {
        let places = Places::new("ab\nçd\n");
        let of = |offset| {
            let place = places.of(offset);
            (place.line, place.column)
        };
        assert_eq!(
            [of(0), of(2), of(3), of(5), of(7), of(99)],
            [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 1)]
        );
    }
}
