//! Rows with gaps between them, and threads that must agree.

use whetstone_kernels::Device;

use crate::shared::bits;
pub(crate) use crate::shared::{close, f64s, inner, numbers, slope, slopes};

/// What lies between rows: a NaN that arithmetic would not make.
const GAP: u32 = 0x7fc1_2345;

/// Rows of `cols` numbers that lie `stride` apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) stride: usize,
}

impl Layout {
    /// Puts rows apart, with gaps between them and behind the last.
    pub(crate) fn apart(self, values: &[f32]) -> Vec<f32> {
        assert_eq!(values.len(), self.rows * self.cols);
        let mut data = vec![f32::from_bits(GAP); self.rows * self.stride];
        for row in 0..self.rows {
            let from = &values[row * self.cols..][..self.cols];
            data[row * self.stride..][..self.cols].copy_from_slice(from);
        }
        data
    }

    /// Gaps alone.
    pub(crate) fn nothing(self) -> Vec<f32> {
        vec![f32::from_bits(GAP); self.rows * self.stride]
    }

    /// The rows without the gaps, which must be as they were.
    pub(crate) fn together(self, data: &[f32]) -> Vec<f32> {
        assert_eq!(data.len(), self.rows * self.stride);
        let mut values = Vec::new();
        for row in data.chunks(self.stride) {
            values.extend_from_slice(&row[..self.cols]);
            assert!(row[self.cols..].iter().all(|x| x.to_bits() == GAP), "a gap was written to");
        }
        values
    }
}

/// Runs on one, two and three threads, which must give the same bits.
pub(crate) fn same_bits(run: impl Fn(&Device) -> Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let alone = run(&Device::cpu(1).unwrap());
    for threads in [2, 3] {
        let other = run(&Device::cpu(threads).unwrap());
        assert!(bits(&alone) == bits(&other), "{threads} threads give other bits than one");
    }
    alone
}
