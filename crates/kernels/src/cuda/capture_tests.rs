//! What is called while work is captured, in which order, and what happens if it cannot be captured: on a
//! device made up for it, which refuses in a capture what the driver refuses.

use std::sync::{Arc, Mutex};

use super::fake::Machine;
use super::tests::open;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Activation;
use crate::matmul::{Matrix, MatrixMut, ScaledProduct, WriteMode, matmul};
use crate::swiglu;

/// A device with its calls, and what it says.
struct Watched {
    device: Device,
    machine: Machine,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    fn new(machine: Machine) -> Self {
        let device = Device::Cuda(open(&machine).unwrap());
        let notes: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&notes);
        device.on_note(move |note| kept.lock().unwrap().push(note.to_owned()));
        Self { device, machine, notes }
    }

    /// Calls since the last time.
    fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.machine.calls.lock().unwrap())
    }

    /// What was said of captures.
    fn notes(&self) -> Vec<String> {
        let notes = self.notes.lock().unwrap();
        notes.iter().filter(|note| !note.starts_with("choosing algorithms")).cloned().collect()
    }
}

/// A launch into `y` with a temporary.
fn work(device: &Device, y: &mut Buffer, from: &Buffer) {
    let mut between: Buffer = device.take(from.len());
    device.copy(&mut between.view_mut(), from.view());
    swiglu::forward(device, &mut y.view_mut(), between.view(), from.view());
}

const CAPTURED: [&str; 4] =
    ["cuStreamBeginCapture", "cuMemcpyDtoDAsync", "cuLaunchKernel", "cuStreamEndCapture"];

#[test]
fn work_is_queued_once_then_captured_and_then_replayed() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
    let mut graphs = device.graphs();
    watched.calls();
    let mut again = || {
        device.capture_or_replay(&mut graphs, 7, &mut || work(device, &mut y, &from));
        watched.calls()
    };
    assert_eq!(again(), ["cuMemAlloc", "cuMemcpyDtoDAsync", "cuLaunchKernel"]);
    assert_eq!(again(), [&CAPTURED[..], &["cuGraphLaunch"]].concat());
    assert_eq!(again(), ["cuGraphLaunch"]);
    assert_eq!(again(), ["cuGraphLaunch"]);
    drop(graphs);
    assert_eq!(watched.calls(), ["cuStreamSynchronize", "cuGraphExecDestroy"]);
    assert!(watched.notes().is_empty());
    device.check().unwrap();
}

#[test]
fn work_whose_memory_was_given_back_is_captured_at_the_next_try() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
    let mut graphs = device.graphs();
    let mut captured = Vec::new();
    for time in 0..4 {
        watched.calls();
        device.capture_or_replay(&mut graphs, 7, &mut || work(device, &mut y, &from));
        captured.push(watched.calls().contains(&"cuGraphLaunch"));
        if time == 0 {
            // As a search for an algorithm does at the end of a first step.
            device.trim();
        }
    }
    assert_eq!(captured, [false, false, true, true]);
    assert!(watched.notes().is_empty());
    device.check().unwrap();
}

#[test]
fn another_key_is_other_work() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
    let mut graphs = device.graphs();
    watched.calls();
    let mut captures = Vec::new();
    for key in [1, 1, 2, 1, 2, 2] {
        device.capture_or_replay(&mut graphs, key, &mut || work(device, &mut y, &from));
        captures.push(watched.calls().contains(&"cuStreamBeginCapture"));
    }
    assert_eq!(captures, [false, true, false, false, true, false]);
}

#[test]
fn memory_of_captured_work_is_not_handed_out_until_the_graphs_are_gone() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
    let mut graphs = device.graphs();
    let mut taken = Vec::new();
    for _ in 0..2 {
        device.capture_or_replay(&mut graphs, 1, &mut || {
            let between: Buffer = device.take(64);
            taken.push(between.view().cuda().address);
            work(device, &mut y, &from);
        });
    }
    let held = device.held_bytes();
    let other: [Buffer; 4] = std::array::from_fn(|_| device.take(64));
    let apart = other.iter().all(|buffer| !taken.contains(&buffer.view().cuda().address));
    assert!(apart, "memory that a replay will write");
    assert!(device.held_bytes() > held);
    device.trim();
    drop((graphs, other));
    device.trim();
    assert_eq!(device.held_bytes(), 2 * 512, "the two buffers that are in use");
    device.check().unwrap();
}

/// Numbers of an operand.
const PRODUCT: usize = 512 * 8;

/// Work that wants something new whenever it is captured: it is computed all the same, the device goes on,
/// and after so many tries that it is not captured is said once.
#[track_caller]
fn falls_back(machine: Machine, reason: &str, tries: usize, new: impl Fn(&Device)) {
    let watched = Watched::new(machine);
    let device = &watched.device;
    let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
    // Operands of a product are in the pool.
    drop([device.take::<Activation>(PRODUCT), device.take(PRODUCT)]);
    let mut graphs = device.graphs();
    for key in [1, 2] {
        for time in 0..6 {
            watched.calls();
            device.capture_or_replay(&mut graphs, key, &mut || {
                if time > 0 {
                    new(device);
                }
                work(device, &mut y, &from);
            });
            let calls = watched.calls();
            let end = calls.iter().position(|call| *call == "cuStreamEndCapture");
            assert_eq!(end.is_some(), (1..=tries).contains(&time), "{calls:?}");
            let captured = &calls[..end.map_or(0, |end| end + 1)];
            let allowed = captured.iter().all(|call| CAPTURED.contains(call));
            assert!(allowed, "in a capture: {captured:?}");
            let outside = &calls[captured.len()..];
            assert!(outside.contains(&"cuLaunchKernel"), "not computed: {calls:?}");
            assert!(!outside.contains(&"cuGraphLaunch"), "replayed: {calls:?}");
            assert_eq!(watched.notes().is_empty(), key == 1 && time < tries);
        }
    }
    let notes = watched.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("decoding without CUDA graphs"), "{notes:?}");
    assert!(notes[0].ends_with(reason), "{notes:?}");
    device.check().unwrap();
}

#[test]
fn a_pool_that_would_have_to_grow_ends_the_capture() {
    let kept = Mutex::new(Vec::<Buffer>::new());
    let reason = "memory that is not there, which cannot be captured";
    falls_back(Machine::whole(), reason, 3, |device| {
        kept.lock().unwrap().push(device.take(10_000));
    });
}

#[test]
fn copies_and_waits_end_the_capture() {
    falls_back(Machine::whole(), "a copy from the host, which cannot be captured", 3, |device| {
        let mut to: Buffer<u32> = device.take(1);
        device.upload_into(&mut to.view_mut(), &[3]);
    });
    falls_back(Machine::whole(), "a copy to the host, which cannot be captured", 3, |device| {
        device.read(device.take::<u32>(1).view());
    });
    falls_back(Machine::whole(), "a wait, which cannot be captured", 3, |device| {
        device.trim();
    });
}

#[test]
fn an_algorithm_that_was_not_looked_for_ends_the_capture() {
    let outputs = Mutex::new(0);
    let reason = "an algorithm that was not looked for, which cannot be captured";
    falls_back(Machine::whole(), reason, 3, |device| {
        // Another weight each time: rows of about the same number share an algorithm.
        *outputs.lock().unwrap() += 8;
        let cols = *outputs.lock().unwrap();
        let (x, mut to): (Buffer, Buffer) = (device.take(PRODUCT), device.take(PRODUCT));
        let weight = Matrix::new(x.view(), cols, 8).transposed();
        let to = MatrixMut::new(to.view_mut(), 8, cols);
        let product = ScaledProduct { scale: 1.0, a: Matrix::new(x.view(), 8, 8), b: weight };
        matmul(device, to, WriteMode::Overwrite, product);
    });
}

#[test]
fn a_call_that_fails_in_a_capture_is_no_failure_of_the_device() {
    let machine = Machine { captured_launches: 0, ..Machine::whole() };
    falls_back(machine, "`whet train --resume`", 1, |_| {});
}

#[test]
fn work_that_panics_leaves_no_capture_open() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let mut graphs = device.graphs();
    device.capture_or_replay(&mut graphs, 1, &mut || {});
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        device.capture_or_replay(&mut graphs, 1, &mut || panic!("made in a test"));
    }));
    assert!(panicked.is_err());
    assert_eq!(watched.calls().last(), Some(&"cuGraphExecDestroy"));
    assert_eq!(device.read(device.upload::<u32>(&[4]).view()), [4]);
    device.check().unwrap();
}

#[test]
fn numbers_are_read_while_later_work_is_queued() {
    let watched = Watched::new(Machine::whole());
    let device = &watched.device;
    let mut numbers = device.upload::<u32>(&[1, 2, 3]);
    watched.calls();
    let first = device.read_later(numbers.view());
    device.upload_into(&mut numbers.view_mut().part(1..2), &[7]);
    let second = device.read_later(numbers.view().part(0..2));
    let (copy, write) = ("cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync");
    assert_eq!(watched.calls(), [copy, write, copy], "nothing waits");
    assert_eq!((first.wait(), second.wait()), (vec![1, 2, 3], vec![1, 7]));
    assert_eq!(watched.calls(), ["cuEventSynchronize"; 2]);
    drop(device.read_later(numbers.view()));
    assert_eq!(watched.calls(), [copy, "cuEventSynchronize"], "its memory is free again");
}

#[test]
fn a_device_that_is_lost_in_a_capture_says_so_and_does_nothing_more() {
    let whole = Watched::new(Machine::whole());
    let run = |watched: &Watched| {
        let device = &watched.device;
        let (from, mut y) = (device.zeros::<Activation>(64), device.zeros::<Activation>(64));
        let mut graphs = device.graphs();
        for _ in 0..4 {
            device.capture_or_replay(&mut graphs, 1, &mut || work(device, &mut y, &from));
        }
        (device.check(), watched.calls().len())
    };
    let (good, calls) = run(&whole);
    assert!(good.is_ok() && calls > 12, "{calls}");
    for lost_at in 1..=calls {
        let watched = Watched::new(Machine { lost_at, ..Machine::whole() });
        let error = run(&watched).0.unwrap_err().to_string();
        assert!(error.contains("failed: CUDA_ERROR_UNKNOWN"), "lost at {lost_at}: {error}");
    }
}
