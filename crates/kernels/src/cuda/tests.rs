//! Everything that can be wrong with a machine or go wrong on a device, on a machine made up for it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fake::{H200, Machine};
use super::*;
use crate::device::Device;
use crate::element::Activation;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};
use crate::swiglu;

pub(super) fn open(machine: &Machine) -> DeviceResult<Cuda> {
    open_with(machine, None)
}

fn open_with(machine: &Machine, cache: Option<&Path>) -> DeviceResult<Cuda> {
    start::start(machine, 0, cache).map(|inner| Cuda(Arc::new(inner)))
}

fn said(machine: &Machine) -> String {
    open(machine).unwrap_err().to_string()
}

#[test]
fn a_search_for_an_algorithm_is_counted_and_the_first_is_said() {
    let cuda = open(&Machine::whole()).unwrap();
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&notes);
    cuda.on_note(move |note| kept.lock().unwrap().push(note.to_owned()));
    assert_eq!(cuda.searches(), Searches::default());
    // 63 rows are in the range of 64.
    for rows in [64, 64, 63, 128] {
        cuda.accumulation_order(rows, 16, 8);
    }
    cuda.check().unwrap();
    assert_eq!((cuda.searches().products, cuda.kept_choices().products), (2, 2));
    let notes = notes.lock().unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("choosing algorithms: "), "{notes:?}");
}

#[test]
fn without_a_driver_it_says_so() {
    let machine = Machine { missing: vec!["libcuda.so.1"], ..Machine::whole() };
    assert_eq!(said(&machine), "no NVIDIA driver: libcuda.so.1 was not found");
}

#[test]
fn an_old_driver_says_what_is_needed() {
    let machine = Machine { driver: CudaVersion { major: 12, minor: 0 }, ..Machine::whole() };
    assert_eq!(
        said(&machine),
        "the driver supports CUDA 12.0; 12.4 is needed (driver 550): update it, or use --device cpu"
    );
    assert_eq!(CudaVersion::from_number(12_040), CudaVersion::NEEDED);
    let machine = Machine { driver: CudaVersion::NEEDED, ..Machine::whole() };
    assert!(open(&machine).is_ok());
}

#[test]
fn a_missing_library_says_where_it_was_looked_for_and_how_to_get_it() {
    for (library, package) in [
        ("NVRTC (libnvrtc.so)", "nvidia-cuda-nvrtc"),
        ("cuBLASLt (libcublasLt.so)", "nvidia-cublas"),
    ] {
        let machine = Machine { missing: vec![library], ..Machine::whole() };
        let expected = format!(
            "{library} was not found; looked in /nowhere, /else; `pip install {package}` gets it"
        );
        assert_eq!(said(&machine), expected);
    }
}

#[test]
fn a_device_that_is_not_there_or_too_old_is_refused() {
    let none = Machine { devices: Vec::new(), ..Machine::whole() };
    assert_eq!(said(&none), "there is no CUDA device 0: the driver has 0");
    let name = "Tesla T4".to_owned();
    let turing =
        Properties { name, capability: ComputeCapability { major: 7, minor: 5 }, ..H200() };
    let machine = Machine { devices: vec![turing], ..Machine::whole() };
    assert_eq!(
        said(&machine),
        "Tesla T4 (compute capability 7.5) has no bf16 tensor cores; Whetstone needs compute \
         capability 8.0"
    );
}

#[test]
fn a_kernel_that_does_not_compile_is_named_with_the_first_error() {
    let machine = Machine { wrong_source: Some("rope.cu"), ..Machine::whole() };
    let said = said(&machine);
    assert!(said.starts_with("rope.cu does not compile ("), "{said}");
    assert!(said.contains("rope.cu(7): error: expected a \";\"; this is a bug"), "{said}");
}

#[test]
fn programs_are_compiled_once_and_again_when_they_are_torn() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), Machine::whole());
    let count = source_names().count();
    let compiled = || machine.compiled.swap(0, Ordering::Relaxed);
    let first = open_with(&machine, Some(folder.path())).unwrap();
    assert_eq!((compiled(), first.info().cached_programs), (count, (0, count)));
    let second = open_with(&machine, Some(folder.path())).unwrap();
    assert_eq!((compiled(), second.info().cached_programs), (0, (count, count)));
    let torn = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(torn, "half").unwrap();
    let third = open_with(&machine, Some(folder.path())).unwrap();
    assert_eq!((compiled(), third.info().cached_programs), (1, (count - 1, count)));
    assert_eq!(third.info().cache_problem, None);
}

#[test]
fn what_is_written_filled_and_copied_is_read_again() {
    let device = Device::Cuda(open(&Machine::whole()).unwrap());
    let numbers = device.upload::<Activation>(&[1.0, 1.003, -2.5, 1e30]);
    assert_eq!(device.read(numbers.view()), [1.0, 1.0, -2.5, crate::nearest_bf16(1e30)]);
    let mut to = device.zeros::<f32>(5);
    assert_eq!(device.read(to.view()), [0.0; 5]);
    device.fill(&mut to.view_mut().part(1..3), 7.5);
    let more = device.upload::<f32>(&[3.0, 4.0]);
    device.copy(&mut to.view_mut().part(3..5), more.view());
    assert_eq!(device.read(to.view()), [0.0, 7.5, 7.5, 3.0, 4.0]);
    assert_eq!(device.read(to.view().part(2..4)), [7.5, 3.0]);
    assert_eq!(device.read(device.upload::<i8>(&[-3, 4]).view()), [-3, 4]);
    assert_eq!(device.read(device.upload::<u32>(&[]).view()), [0u32; 0]);
    device.check().unwrap();
}

#[test]
fn memory_is_handed_out_again_and_given_back() {
    let device = Device::Cuda(open(&Machine::whole()).unwrap());
    drop(device.take::<Activation>(1000));
    let held = device.held_bytes();
    assert_eq!(held, 2048);
    let again = device.take::<f32>(500);
    assert_eq!(device.held_bytes(), held);
    drop(device.take::<f32>(10_000));
    device.trim();
    assert_eq!(device.held_bytes(), held, "what is in use stays");
    drop(again);
    device.trim();
    assert_eq!(device.held_bytes(), 0);
    device.check().unwrap();
}

#[test]
fn what_waits_is_given_back_before_memory_is_called_too_small() {
    let device = Device::Cuda(open(&Machine::whole()).unwrap());
    drop(device.take::<i8>(600 << 10));
    let second = device.take::<i8>(700 << 10);
    device.check().unwrap();
    drop(device.take::<i8>(500 << 10));
    let error = device.check().unwrap_err();
    let total = 1 << 20;
    let free = total - (704 << 10);
    assert_eq!(error, DeviceError::OutOfMemory { asked: 512 << 10, free, total });
    assert!(error.to_string().contains("lower the batch or the length"), "{error}");
    drop(second);
}

#[test]
fn a_lost_device_does_nothing_more_and_says_its_first_failure() {
    for lost_at in 1..12 {
        let machine = Machine { lost_at, ..Machine::whole() };
        let device = Device::Cuda(open(&machine).unwrap());
        let gate = device.upload::<Activation>(&[1.0; 64]);
        let mut y = device.zeros::<Activation>(64);
        swiglu::forward(&device, &mut y.view_mut(), gate.view(), gate.view());
        let mut product = device.zeros::<f32>(16);
        let to = MatrixMut::new(product.view_mut(), 4, 4);
        let half = Matrix::new(gate.view(), 4, 16);
        matmul(
            &device,
            to,
            WriteMode::Overwrite,
            ScaledProduct { scale: 1.0, a: half, b: half.transposed() },
        );
        let read = device.read(y.view());
        assert_eq!(read.len(), 64);
        let first = device.check();
        drop((gate, y, product));
        let later = device.take::<f32>(5);
        assert_eq!(device.read(later.view()).len(), 5);
        match device.check() {
            Ok(()) => assert!(lost_at > 8, "lost at {lost_at}"),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("failed: CUDA_ERROR_UNKNOWN"), "{text}");
                assert!(text.contains("`whet train --resume`"), "{text}");
                assert!(first.is_ok() || first == Err(error), "the first failure stays");
            }
        }
    }
}

#[test]
fn an_operation_without_a_kernel_is_a_failure_and_no_panic() {
    let cuda = open(&Machine::whole()).unwrap();
    cuda.unsupported("sampling");
    cuda.unsupported("the head");
    assert_eq!(cuda.check(), Err(DeviceError::Unsupported("sampling")));
}

#[test]
#[should_panic(expected = "numbers of another device")]
fn numbers_of_two_devices_do_not_mix() {
    let cuda = Device::Cuda(open(&Machine::whole()).unwrap());
    let cpu = Device::cpu(1).unwrap();
    let mut to = cpu.zeros::<f32>(3);
    let from = cuda.zeros::<f32>(3);
    cpu.copy(&mut to.view_mut(), from.view());
}
