//! A machine that tests make up: which libraries it has, how old they are, how large its device is,
//! and at which call that device is lost. Its memory is the host's; its kernels compute nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::driver::{
    Address, Algorithm, Argument, Driver, Function, HeadRows, Launch, Libraries, Operands, Pattern,
    Product, Properties, Source, TensorMap,
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
}

pub(super) const H200: fn() -> Properties = || Properties {
    name: "NVIDIA H200".to_owned(),
    capability: (9, 0),
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
        }
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
        let (lost_at, calls) = (self.lost_at, AtomicUsize::new(0));
        Ok(Box::new(Device { total, lost_at, calls, memory: Mutex::default() }))
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
    calls: AtomicUsize,
    memory: Mutex<BTreeMap<Address, Vec<u8>>>,
}

impl Device {
    fn call(&self, call: &'static str) -> DeviceResult<()> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if self.lost_at > 0 && number >= self.lost_at {
            return Err(DeviceError::Call { call, code: "CUDA_ERROR_UNKNOWN".to_owned() });
        }
        Ok(())
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
        memory.insert(address, vec![0xee; bytes]);
        Ok(address)
    }

    fn release(&self, address: Address) {
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
        let from = self.at(from, bytes, |from| from.to_vec());
        self.at(to, bytes, |to| to.copy_from_slice(&from));
        Ok(())
    }

    fn fill(&self, to: Address, pattern: Pattern, count: usize) -> DeviceResult<()> {
        self.call("cuMemsetAsync")?;
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
}
