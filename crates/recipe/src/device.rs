//! The device to compute on: the requested one, or an error.
//!
//! `auto` takes the first GPU that works and else the CPU, and says which and why. A device that was
//! asked for by its name is had or the command ends.

use std::thread;

use whetstone_core::config::{Config, DeviceChoice};
use whetstone_kernels::{Device, DeviceError};

use crate::model_failure::ModelFailure;
use crate::observer::Observer;

/// The device that the settings name.
pub fn open(
    config: &Config,
    threads: Option<usize>,
    observer: &dyn Observer,
) -> Result<Device, ModelFailure> {
    let choice = config.run.device().map_err(|problem| ModelFailure::NoSuchDevice { problem })?;
    choose(choice, threads, observer)
}

/// The device of this name.
pub fn choose(
    choice: DeviceChoice,
    threads: Option<usize>,
    observer: &dyn Observer,
) -> Result<Device, ModelFailure> {
    let (opened, note) = chosen(choice, Device::cuda);
    if let Some(note) = note {
        observer.note(&note);
    }
    let device = opened?.map_or_else(|| cpu(threads), Ok)?;
    device.on_note(observer.notes());
    Ok(device)
}

/// The CPU, with this many threads or one per core.
pub fn cpu(threads: Option<usize>) -> Result<Device, ModelFailure> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(cores);
    Device::cpu(threads).map_err(|source| ModelFailure::Threads { threads, source })
}

/// The GPU, or `None` for the CPU; with a message for the user.
fn chosen(
    choice: DeviceChoice,
    cuda: impl Fn(u32) -> Result<Device, DeviceError>,
) -> (Result<Option<Device>, DeviceError>, Option<String>) {
    let index = match choice {
        DeviceChoice::Cpu => return (Ok(None), None),
        DeviceChoice::Auto => 0,
        DeviceChoice::Cuda(index) => index,
    };
    match cuda(index) {
        Ok(device) => {
            let note = format!("computing on {}", name(&device));
            (Ok(Some(device)), Some(note))
        }
        Err(error) if choice == DeviceChoice::Auto => {
            (Ok(None), Some(format!("computing on the CPU: {error}")))
        }
        Err(error) => (Err(error), None),
    }
}

/// The name of a device.
pub fn name(device: &Device) -> &str {
    match device {
        Device::Cpu(_) => "the CPU",
        Device::Cuda(cuda) => &cuda.info().properties.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: fn(u32) -> Result<Device, DeviceError> = |_| Err(DeviceError::NoDriver);

    #[test]
    fn auto_falls_back_to_the_cpu_and_says_why() {
        let (device, note) = chosen(DeviceChoice::Auto, NONE);
        assert!(matches!(device, Ok(None)));
        let said = "computing on the CPU: no NVIDIA driver: libcuda.so.1 was not found";
        assert_eq!(note.as_deref(), Some(said));
    }

    #[test]
    fn a_gpu_that_was_asked_for_is_had_or_nothing_is() {
        let seen = std::cell::Cell::new(None);
        let (device, note) = chosen(DeviceChoice::Cuda(3), |index| {
            seen.set(Some(index));
            Err(DeviceError::NoDevice { index, count: 1 })
        });
        assert_eq!(
            (device.unwrap_err(), note),
            (DeviceError::NoDevice { index: 3, count: 1 }, None)
        );
        assert_eq!(seen.get(), Some(3));
    }

    #[test]
    fn the_cpu_asks_no_gpu_and_says_nothing() {
        let (device, note) = chosen(DeviceChoice::Cpu, |_| unreachable!("no GPU was asked for"));
        assert!(matches!(device, Ok(None)) && note.is_none());
        let stand_in = |_| Ok(Device::cpu(1).unwrap());
        let (device, note) = chosen(DeviceChoice::Auto, stand_in);
        assert!(matches!(device, Ok(Some(_))));
        assert_eq!(note.as_deref(), Some("computing on the CPU"));
    }
}
