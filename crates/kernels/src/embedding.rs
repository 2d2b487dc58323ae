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
pub fn gather(device: &Device, to: &mut ViewMut<'_>, table: View<'_>, ids: View<'_, u32>) {
    let width = width(to.len(), ids.len());
    assert!(table.len().is_multiple_of(width), "a table of such rows");
    match device {
        Device::Cpu(cpu) => {
            cpu::embedding::gather(&cpu.threads, to.host(), table.host(), ids.host());
        }
        Device::Cuda(cuda) => cuda::elementwise::gather(cuda, to, table, ids),
    }
}

/// Marks the row of a token that was sampled in place of its id; see [`resolve`].
pub const SAMPLED: u32 = 1 << 31;

/// Ids of tokens: `ids[t]`, or `sampled[row]` where it is [`SAMPLED`]` | row`.
///
/// # Panics
///
/// If the lengths differ, or on a processor there is no such row; on CUDA it is token 0.
pub fn resolve(
    device: &Device,
    to: &mut ViewMut<'_, u32>,
    ids: View<'_, u32>,
    sampled: View<'_, u32>,
) {
    assert_eq!(to.len(), ids.len(), "an id for each");
    match device {
        Device::Cpu(_) => {
            let sampled = sampled.host();
            let of = |id: u32| if id < SAMPLED { id } else { sampled[(id - SAMPLED) as usize] };
            to.host().iter_mut().zip(ids.host()).for_each(|(to, &id)| *to = of(id));
        }
        Device::Cuda(cuda) => cuda::elementwise::resolve_ids(cuda, to, ids, sampled),
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
    dy: View<'_>,
    ids: View<'_, u32>,
) {
    let width = width(dy.len(), ids.len());
    assert!(dtable.len().is_multiple_of(width), "a table of such rows");
    match device {
        Device::Cpu(cpu) => {
            cpu::embedding::scatter(&cpu.threads, dtable.host(), dy.host(), ids.host());
        }
        Device::Cuda(cuda) => cuda::elementwise::scatter(cuda, dtable, dy, ids),
    }
}

/// Puts row `t` into row `rows[t]` of zeros, no two into the same one: what [`gather`] took, given back.
///
/// # Panics
///
/// If the shapes do not fit or there is no such row.
pub fn place(device: &Device, to: &mut ViewMut<'_>, from: View<'_>, rows: View<'_, u32>) {
    let width = width(from.len(), rows.len());
    assert!(to.len().is_multiple_of(width), "a matrix of such rows");
    match device {
        Device::Cpu(_) => scatter(device, to, from, rows),
        Device::Cuda(cuda) => cuda::elementwise::place_rows(cuda, to, from, rows),
    }
}

fn width(numbers: usize, rows: usize) -> usize {
    assert!(rows > 0 && numbers.is_multiple_of(rows), "{numbers} numbers in {rows} rows");
    numbers / rows
}
