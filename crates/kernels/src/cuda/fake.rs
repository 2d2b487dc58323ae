//! A machine that tests make up: which libraries it has, how old they are, how large its device is,
//! and at which call that device is lost. Its memory is the host's; its kernels compute nothing.
//! Other crates have it by the feature `fake`.

#![expect(clippy::unwrap_used, reason = "a stand-in fails as tests do")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::driver::{
    Address, Algorithm, Argument, ComputeCapability, Driver, Function, Graph, HeadRows, Launch,
    Libraries, Operands, Pattern, Product, Properties, Source, TensorMap, Ticket,
};
use super::error::{CudaVersion, DeviceError, DeviceResult};
use super::library::Library;

/// A machine.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// Libraries that are missing, by their names.
    pub(super) missing: Vec<&'static str>,
    pub(super) driver: CudaVersion,
    pub(super) devices: Vec<Properties>,
    /// The source that does not compile.
    pub(super) wrong_source: Option<&'static str>,
    /// Programs that were compiled.
    pub(super) compiled: Arc<AtomicUsize>,
    /// The device is lost at this call; 0 is never.
    pub(super) lost_at: usize,
    /// Launches of a capture after which one is refused.
    pub(super) captured_launches: usize,
    /// The device's calls in their order.
    pub(super) calls: Calls,
    /// What fresh memory holds.
    pub(super) fresh: u8,
}

/// Names of calls, shared by a machine and its devices.
pub(super) type Calls = Arc<Mutex<Vec<&'static str>>>;

pub(super) const H200: fn() -> Properties = || Properties {
    name: "NVIDIA H200".to_owned(),
    capability: ComputeCapability::HOPPER,
    multiprocessors: 132,
    total_bytes: 1 << 20,
};

impl Machine {
    /// One that has everything.
    pub(super) fn whole() -> Self {
        Self {
            missing: Vec::new(),
            driver: CudaVersion { major: 13, minor: 0 },
            devices: vec![H200()],
            wrong_source: None,
            compiled: Arc::default(),
            lost_at: 0,
            captured_launches: usize::MAX,
            calls: Arc::default(),
            fresh: 0xee,
        }
    }

    /// One with memory for a small model, which holds zeros.
    #[cfg(feature = "fake")]
    pub(super) fn large(lost_at: usize) -> Self {
        let device = Properties { total_bytes: 16 << 30, ..H200() };
        Self { devices: vec![device], lost_at, fresh: 0, ..Self::whole() }
    }
}

impl Libraries for Machine {
    fn open(&self, library: &Library) -> Result<PathBuf, Vec<PathBuf>> {
        if self.missing.contains(&library.name) {
            return Err(vec![PathBuf::from("/nowhere"), PathBuf::from("/else")]);
        }
        Ok(PathBuf::from("/made/up").join(library.files[0]))
    }

    fn driver_version(&self) -> DeviceResult<CudaVersion> {
        Ok(self.driver)
    }

    fn count(&self) -> DeviceResult<u32> {
        Ok(u32::try_from(self.devices.len()).unwrap())
    }

    fn properties(&self, index: u32) -> DeviceResult<Properties> {
        Ok(self.devices[index as usize].clone())
    }

    fn start(&self, index: u32) -> DeviceResult<Box<dyn Driver>> {
        let total = self.devices[index as usize].total_bytes;
        Ok(Box::new(Device {
            total,
            lost_at: self.lost_at,
            fresh: self.fresh,
            captured_launches: self.captured_launches,
            calls: Arc::clone(&self.calls),
            memory: Mutex::default(),
            arriving: Mutex::default(),
            capture: Mutex::default(),
        }))
    }

    fn compile(&self, source: &Source<'_>) -> Result<Vec<u8>, String> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        match self.wrong_source {
            Some(wrong) if wrong == source.name => {
                Err(format!("{wrong}(3): warning: odd\n{wrong}(7): error: expected a \";\"\n"))
            }
            _ => Ok(source.architecture.as_bytes().to_vec()),
        }
    }

    fn compiler_version(&self) -> CudaVersion {
        CudaVersion { major: 13, minor: 0 }
    }
}

/// Its device.
#[derive(Debug)]
struct Device {
    total: usize,
    lost_at: usize,
    fresh: u8,
    captured_launches: usize,
    calls: Calls,
    memory: Mutex<BTreeMap<Address, Vec<u8>>>,
    /// What is on its way to the host.
    arriving: Mutex<Vec<Vec<u8>>>,
    capture: Mutex<Option<Captured>>,
}

/// A capture that is open.
#[derive(Debug, Default)]
struct Captured {
    launches: usize,
    /// A call that cannot be captured, or failed: the whole capture fails, as the driver has it.
    is_invalid: bool,
}

/// What may be called while work is captured.
const CAPTURED: [&str; 5] = [
    "cuLaunchKernel",
    "cublasLtMatmul",
    "cuMemcpyDtoDAsync",
    "cuMemsetAsync",
    "cuStreamEndCapture",
];

impl Device {
    fn call(&self, call: &'static str) -> DeviceResult<()> {
        let mut calls = self.calls.lock().unwrap();
        calls.push(call);
        if self.lost_at > 0 && calls.len() >= self.lost_at {
            return Err(DeviceError::Call { call, code: "CUDA_ERROR_UNKNOWN".to_owned() });
        }
        if let Some(capture) = &mut *self.capture.lock().unwrap() {
            capture.launches += usize::from(call == "cuLaunchKernel");
            if !CAPTURED.contains(&call) || capture.launches > self.captured_launches {
                capture.is_invalid = true;
                let code = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED".to_owned();
                return Err(DeviceError::Call { call, code });
            }
        }
        Ok(())
    }

    fn is_captured(&self) -> bool {
        self.capture.lock().unwrap().is_some()
    }

    /// Hands out the bytes at an address inside a block.
    fn at<R>(&self, address: Address, count: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut memory = self.memory.lock().unwrap();
        let (begin, block) = memory.range_mut(..=address).next_back().unwrap();
        let begin = usize::try_from(address - begin).unwrap();
        work(&mut block[begin..begin + count])
    }
}

impl Driver for Device {
    fn free_bytes(&self) -> DeviceResult<usize> {
        let used: usize = self.memory.lock().unwrap().values().map(Vec::len).sum();
        Ok(self.total - used)
    }

    fn allocate(&self, bytes: usize) -> DeviceResult<Address> {
        self.call("cuMemAlloc")?;
        let free = self.free_bytes()?;
        if bytes > free {
            return Err(DeviceError::OutOfMemory { asked: bytes, free, total: 0 });
        }
        let mut memory = self.memory.lock().unwrap();
        let end = memory.last_key_value().map_or(512, |(at, block)| at + block.len() as u64);
        let address = end.next_multiple_of(512);
        memory.insert(address, vec![self.fresh; bytes]);
        Ok(address)
    }

    fn release(&self, address: Address) {
        self.calls.lock().unwrap().push("cuMemFree");
        self.memory.lock().unwrap().remove(&address).expect("given back once");
    }

    fn write(&self, to: Address, from: &[u8]) -> DeviceResult<()> {
        self.call("cuMemcpyHtoDAsync")?;
        self.at(to, from.len(), |to| to.copy_from_slice(from));
        Ok(())
    }

    fn read(&self, to: &mut [u8], from: Address) -> DeviceResult<()> {
        self.call("cuMemcpyDtoHAsync")?;
        self.at(from, to.len(), |from| to.copy_from_slice(from));
        Ok(())
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> DeviceResult<()> {
        self.call("cuMemcpyDtoDAsync")?;
        if self.is_captured() {
            return Ok(());
        }
        let from = self.at(from, bytes, |from| from.to_vec());
        self.at(to, bytes, |to| to.copy_from_slice(&from));
        Ok(())
    }

    fn fill(&self, to: Address, pattern: Pattern, count: usize) -> DeviceResult<()> {
        self.call("cuMemsetAsync")?;
        if self.is_captured() {
            return Ok(());
        }
        let pattern = match pattern {
            Pattern::One(x) => x.to_le_bytes().to_vec(),
            Pattern::Two(x) => x.to_le_bytes().to_vec(),
            Pattern::Four(x) => x.to_le_bytes().to_vec(),
        };
        self.at(to, count * pattern.len(), |to| {
            to.chunks_exact_mut(pattern.len()).for_each(|to| to.copy_from_slice(&pattern));
        });
        Ok(())
    }

    fn load(&self, image: &[u8], kernels: &[&str]) -> DeviceResult<Vec<Function>> {
        if image != b"sm_90a" {
            let code = "CUDA_ERROR_INVALID_IMAGE".to_owned();
            return Err(DeviceError::Call { call: "cuModuleLoadData", code });
        }
        Ok((0..kernels.len()).map(Function).collect())
    }

    fn launch(&self, _: Function, _: Launch, _: &[Argument]) -> DeviceResult<()> {
        self.call("cuLaunchKernel")
    }

    fn wait(&self) -> DeviceResult<()> {
        self.call("cuStreamSynchronize")
    }

    fn product_candidates(&self, _: &Product) -> DeviceResult<Vec<Algorithm>> {
        Ok(Vec::new())
    }

    fn library_version(&self) -> u64 {
        130_100
    }

    fn tensor_map(&self, rows: &HeadRows) -> DeviceResult<TensorMap> {
        self.call("cuTensorMapEncodeTiled")?;
        Ok(TensorMap([rows.address; 16]))
    }

    fn multiply(&self, _: &Product, _: &Operands, _: &Algorithm) -> DeviceResult<()> {
        self.call("cublasLtMatmul")
    }

    fn write_pinned(&self, to: Address, from: &[u8]) -> DeviceResult<()> {
        self.write(to, from)
    }

    fn begin_read(&self, from: Address, bytes: usize) -> DeviceResult<Ticket> {
        self.call("cuMemcpyDtoHAsync")?;
        let bytes = self.at(from, bytes, |from| from.to_vec());
        let mut arriving = self.arriving.lock().unwrap();
        arriving.push(bytes);
        Ok(Ticket(arriving.len() - 1))
    }

    fn end_read(&self, ticket: Ticket, to: &mut [u8]) -> DeviceResult<()> {
        self.call("cuEventSynchronize")?;
        to.copy_from_slice(&self.arriving.lock().unwrap()[ticket.0][..to.len()]);
        Ok(())
    }

    fn begin_capture(&self) -> DeviceResult<()> {
        self.call("cuStreamBeginCapture")?;
        *self.capture.lock().unwrap() = Some(Captured::default());
        Ok(())
    }

    fn end_capture(&self) -> DeviceResult<Graph> {
        let called = self.call("cuStreamEndCapture");
        let ended = self.capture.lock().unwrap().take().expect("a capture that was begun");
        called?;
        if ended.is_invalid {
            let (call, code) = ("cuStreamEndCapture", "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
            return Err(DeviceError::Call { call, code: code.to_owned() });
        }
        Ok(Graph(ended.launches))
    }

    fn replay(&self, _: Graph) -> DeviceResult<()> {
        self.call("cuGraphLaunch")
    }

    fn release_graph(&self, _: Graph) {
        self.calls.lock().unwrap().push("cuGraphExecDestroy");
    }

    #[cfg(feature = "fake")]
    fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().unwrap().clone()
    }
}
