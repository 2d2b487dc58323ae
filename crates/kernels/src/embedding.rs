//! A row of a table for each token, and the table's gradient.

use crate::buffer::{Real, View, ViewMut};
use crate::cpu;
use crate::cuda;
use crate::device::Device;

/// Copies row `ids[t]` of the table to row `t`.
///
/// # Panics
///
/// If the shapes do not fit or the table has no such row.
pub fn gather(device: &Device, to: &mut ViewMut<'_>, (table, ids): (View<'_>, View<'_, u32>)) {
    let width = width(to.len(), ids.len());
    assert!(table.len().is_multiple_of(width), "a table of such rows");
    match device {
        Device::Cpu(cpu) => {
            cpu::embedding::gather(&cpu.threads, to.host(), (table.host(), ids.host(), width));
        }
        Device::Cuda(cuda) => cuda::elementwise::gather(cuda, to, table, ids),
    }
}

/// Adds row `t` to row `ids[t]` of the table's gradient, tokens in their order: the same in one call
/// and in several.
///
/// # Panics
///
/// If the shapes do not fit or the table has no such row.
pub fn scatter<T: Real>(
    device: &Device,
    dtable: &mut ViewMut<'_, T>,
    (dy, ids): (View<'_>, View<'_, u32>),
) {
    let width = width(dy.len(), ids.len());
    assert!(dtable.len().is_multiple_of(width), "a table of such rows");
    match device {
        Device::Cpu(cpu) => {
            cpu::embedding::scatter(&cpu.threads, dtable.host(), (dy.host(), ids.host(), width));
        }
        Device::Cuda(cuda) => cuda::elementwise::scatter(cuda, dtable, dy, ids),
    }
}

/// Puts row `t` into row `rows[t]` of zeros, no two into the same one: what [`gather`] took, given back.
///
/// # Panics
///
/// If the shapes do not fit or there is no such row.
pub fn place(device: &Device, to: &mut ViewMut<'_>, (from, rows): (View<'_>, View<'_, u32>)) {
    let width = width(from.len(), rows.len());
    assert!(to.len().is_multiple_of(width), "a matrix of such rows");
    match device {
        Device::Cpu(_) => scatter(device, to, (from, rows)),
        Device::Cuda(cuda) => cuda::elementwise::place_rows(cuda, to, from, rows),
    }
}

fn width(numbers: usize, rows: usize) -> usize {
    assert!(rows > 0 && numbers.is_multiple_of(rows), "{numbers} numbers in {rows} rows");
    numbers / rows
}
