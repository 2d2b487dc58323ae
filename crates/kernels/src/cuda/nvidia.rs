//! [`Libraries`] and [`Driver`] over NVIDIA's own, by the lowest level of `cudarc`.
//!
//! One context and one stream a device. A thread that calls makes the context its own first.

#![expect(unsafe_code, reason = "calls into the driver and its libraries")]

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use cudarc::driver::sys as cu;
use cudarc::driver::sys::CUdevice_attribute as Attribute;

use super::driver::{
    Address, Algorithm, Argument, ComputeCapability, Driver, Function, Graph, HeadRows, Launch,
    Libraries, Operands, Pattern, Product, Properties, Source, TensorMap, Ticket,
};
use super::error::{CudaVersion, DeviceError, DeviceResult};
use super::launch::launch_on;
use super::library::{Folders, Library};
use super::lt::Lt;
use super::nvrtc;
use super::pinned::Pinned;
use super::stream_capture;

/// Numbers of a head that tensor maps describe.
const HEAD: u64 = 128;

/// The libraries of this machine.
#[derive(Debug)]
pub(crate) struct Nvidia {
    folders: Folders,
    /// Held open for as long as the program runs: the bindings keep pointers into them.
    open: Mutex<Vec<libloading::Library>>,
}

impl Nvidia {
    pub(crate) fn new() -> Self {
        Self { folders: Folders::of_this_machine(), open: Mutex::default() }
    }

    fn load(&self, path: &Path) -> bool {
        // SAFETY: a library of NVIDIA's, whose initialisers ask nothing of the program.
        let library = unsafe { libloading::Library::new(path) };
        library
            .map(|library| {
                // Never unloaded: forgotten on purpose when the list is dropped.
                self.open.lock().unwrap_or_else(PoisonError::into_inner).push(library);
            })
            .is_ok()
    }
}

impl Drop for Nvidia {
    fn drop(&mut self) {
        let open = std::mem::take(self.open.get_mut().unwrap_or_else(PoisonError::into_inner));
        open.into_iter().for_each(std::mem::forget);
    }
}

impl Libraries for Nvidia {
    fn open(&self, library: &Library) -> Result<PathBuf, Vec<PathBuf>> {
        let found = self.folders.find(library).filter(|path| self.load(path));
        let by_name = || library.files.iter().map(PathBuf::from).find(|name| self.load(name));
        found.or_else(by_name).ok_or_else(|| self.folders.of(library))
    }

    fn driver_version(&self) -> DeviceResult<CudaVersion> {
        let mut number = 0;
        // SAFETY: the driver was opened, and the number is ours.
        done("cuDriverGetVersion", unsafe { cu::cuDriverGetVersion(&raw mut number) })?;
        Ok(CudaVersion::from_number(u32::try_from(number).unwrap_or(0)))
    }

    fn count(&self) -> DeviceResult<u32> {
        let mut count = 0;
        // SAFETY: the driver was opened.
        match unsafe { cu::cuInit(0) } {
            cu::CUresult::CUDA_ERROR_NO_DEVICE => return Ok(0),
            other => done("cuInit", other)?,
        }
        // SAFETY: as above, and the number is ours.
        done("cuDeviceGetCount", unsafe { cu::cuDeviceGetCount(&raw mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    fn properties(&self, index: u32) -> DeviceResult<Properties> {
        let device = device(index)?;
        let mut name = [0; 256];
        // SAFETY: the driver ends the name with a zero within the length given.
        let text = unsafe {
            done("cuDeviceGetName", cu::cuDeviceGetName(name.as_mut_ptr(), 256, device))?;
            CStr::from_ptr(name.as_ptr())
        };
        let mut total_bytes = 0;
        // SAFETY: the number is ours.
        let result = unsafe { cu::cuDeviceTotalMem_v2(&raw mut total_bytes, device) };
        done("cuDeviceTotalMem", result)?;
        let major = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let multiprocessors =
            attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let name = text.to_string_lossy().into_owned();
        let capability = ComputeCapability { major, minor };
        Ok(Properties { name, capability, multiprocessors, total_bytes })
    }

    fn start(&self, index: u32) -> DeviceResult<Box<dyn Driver>> {
        let (mut context, mut stream) = (ptr::null_mut(), ptr::null_mut());
        let device = device(index)?;
        // SAFETY: pointers to ours, which are read only after success.
        unsafe {
            let retained = cu::cuDevicePrimaryCtxRetain(&raw mut context, device);
            done("cuDevicePrimaryCtxRetain", retained)?;
            done("cuCtxSetCurrent", cu::cuCtxSetCurrent(context))?;
            done("cuStreamCreate", cu::cuStreamCreate(&raw mut stream, 1))?;
        }
        let (lt, pinned) = (Lt::new(stream)?, Pinned::default());
        Ok(Box::new(Stream { context, queue: stream, lt, pinned }))
    }

    fn compile(&self, source: &Source<'_>) -> Result<Vec<u8>, String> {
        nvrtc::compile(source)
    }

    fn compiler_version(&self) -> CudaVersion {
        nvrtc::version()
    }
}

fn device(index: u32) -> DeviceResult<cu::CUdevice> {
    let (mut device, index) = (0, i32::try_from(index).unwrap_or(i32::MAX));
    // SAFETY: the driver was initialised, and the number is ours.
    done("cuDeviceGet", unsafe { cu::cuDeviceGet(&raw mut device, index) })?;
    Ok(device)
}

fn attribute(device: cu::CUdevice, which: Attribute) -> DeviceResult<u32> {
    let mut value = 0;
    // SAFETY: the number is ours.
    let result = unsafe { cu::cuDeviceGetAttribute(&raw mut value, which, device) };
    done("cuDeviceGetAttribute", result)?;
    Ok(u32::try_from(value).unwrap_or(0))
}

/// A call of the driver that must succeed.
pub(super) fn done(call: &'static str, result: cu::CUresult) -> DeviceResult<()> {
    match result {
        cu::CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(DeviceError::Call { call, code: format!("{other:?}") }),
    }
}

/// A device and its stream of work.
#[derive(Debug)]
struct Stream {
    context: cu::CUcontext,
    queue: cu::CUstream,
    lt: Lt,
    pinned: Pinned,
}

// SAFETY: the driver's functions may be called from any thread; the handles are only handed to it.
unsafe impl Send for Stream {}
// SAFETY: the same.
unsafe impl Sync for Stream {}

impl Stream {
    /// Makes the context that of the calling thread.
    fn enter(&self) -> DeviceResult<()> {
        // SAFETY: the context was retained and is never released.
        done("cuCtxSetCurrent", unsafe { cu::cuCtxSetCurrent(self.context) })
    }
}

impl Driver for Stream {
    fn free_bytes(&self) -> DeviceResult<usize> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the numbers are ours.
        done("cuMemGetInfo", unsafe { cu::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok(free)
    }

    fn allocate(&self, bytes: usize) -> DeviceResult<Address> {
        self.enter()?;
        let mut address = 0;
        // SAFETY: the number is ours.
        match unsafe { cu::cuMemAlloc_v2(&raw mut address, bytes) } {
            cu::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                let (free, total) = (self.free_bytes()?, 0);
                Err(DeviceError::OutOfMemory { asked: bytes, free, total })
            }
            other => done("cuMemAlloc", other).map(|()| address),
        }
    }

    fn release(&self, address: Address) {
        if self.enter().is_ok() {
            // SAFETY: the address came from `allocate` and is given back once.
            let _ = unsafe { cu::cuMemFree_v2(address) };
        }
    }

    fn write(&self, to: Address, from: &[u8]) -> DeviceResult<()> {
        self.enter()?;
        let source = from.as_ptr().cast();
        // SAFETY: the caller has that many bytes at `to`; memory that is not pinned is copied out
        // before the call returns.
        done("cuMemcpyHtoDAsync", unsafe {
            cu::cuMemcpyHtoDAsync_v2(to, source, from.len(), self.queue)
        })
    }

    fn read(&self, to: &mut [u8], from: Address) -> DeviceResult<()> {
        self.enter()?;
        let target = to.as_mut_ptr().cast();
        // SAFETY: the caller has that many bytes at `from`, and the slice lives until the wait ends.
        let copied = unsafe { cu::cuMemcpyDtoHAsync_v2(target, from, to.len(), self.queue) };
        done("cuMemcpyDtoHAsync", copied)?;
        self.wait()
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> DeviceResult<()> {
        self.enter()?;
        // SAFETY: the caller has that many bytes at both places.
        let copied = unsafe { cu::cuMemcpyDtoDAsync_v2(to, from, bytes, self.queue) };
        done("cuMemcpyDtoDAsync", copied)
    }

    fn fill(&self, to: Address, pattern: Pattern, count: usize) -> DeviceResult<()> {
        self.enter()?;
        // SAFETY: the caller has that many patterns at `to`.
        let filled = unsafe {
            match pattern {
                Pattern::One(x) => cu::cuMemsetD8Async(to, x, count, self.queue),
                Pattern::Two(x) => cu::cuMemsetD16Async(to, x, count, self.queue),
                Pattern::Four(x) => cu::cuMemsetD32Async(to, x, count, self.queue),
            }
        };
        done("cuMemsetAsync", filled)
    }

    fn load(&self, image: &[u8], kernels: &[&str]) -> DeviceResult<Vec<Function>> {
        self.enter()?;
        let mut module = ptr::null_mut();
        let data = image.as_ptr().cast();
        // SAFETY: the image is one that the compiler made, whole.
        done("cuModuleLoadData", unsafe { cu::cuModuleLoadData(&raw mut module, data) })?;
        let find = |name: &&str| {
            let mut function = ptr::null_mut();
            let name = CString::new(*name).unwrap_or_default();
            // SAFETY: the module was loaded and stays so.
            let found =
                unsafe { cu::cuModuleGetFunction(&raw mut function, module, name.as_ptr()) };
            done("cuModuleGetFunction", found).map(|()| Function(function as usize))
        };
        kernels.iter().map(find).collect()
    }

    fn launch(
        &self,
        function: Function,
        launch: Launch,
        arguments: &[Argument],
    ) -> DeviceResult<()> {
        self.enter()?;
        launch_on(self.queue, function, launch, arguments)
    }

    fn wait(&self) -> DeviceResult<()> {
        self.enter()?;
        // SAFETY: the stream was created and is never destroyed.
        done("cuStreamSynchronize", unsafe { cu::cuStreamSynchronize(self.queue) })
    }

    fn product_candidates(&self, product: &Product) -> DeviceResult<Vec<Algorithm>> {
        self.enter()?;
        self.lt.candidates(product)
    }

    fn library_version(&self) -> u64 {
        Lt::version()
    }

    fn tensor_map(&self, rows: &HeadRows) -> DeviceResult<TensorMap> {
        let mut map = cu::CUtensorMap { opaque: [0; 16] };
        let bytes = size_of::<u16>() as u64;
        let sizes = [HEAD, rows.heads as u64, rows.rows as u64];
        let strides = [HEAD * bytes, rows.stride as u64 * bytes];
        let (boxes, steps) = ([64u32, 1, 64], [1u32; 3]);
        // SAFETY: lists of as many numbers as the map has dimensions; the map is ours.
        done("cuTensorMapEncodeTiled", unsafe {
            cu::cuTensorMapEncodeTiled(
                &raw mut map,
                cu::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                3,
                rows.address as *mut c_void,
                sizes.as_ptr(),
                strides.as_ptr(),
                boxes.as_ptr(),
                steps.as_ptr(),
                cu::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                cu::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                cu::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                cu::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        })?;
        Ok(TensorMap(map.opaque))
    }

    fn multiply(&self, product: &Product, operands: &Operands, by: &Algorithm) -> DeviceResult<()> {
        self.enter()?;
        self.lt.multiply(product, operands, by)
    }

    fn write_pinned(&self, to: Address, from: &[u8]) -> DeviceResult<()> {
        self.enter()?;
        self.pinned.write(to, from, self.queue)
    }

    fn begin_read(&self, from: Address, bytes: usize) -> DeviceResult<Ticket> {
        self.enter()?;
        self.pinned.begin_read(from, bytes, self.queue)
    }

    fn end_read(&self, ticket: Ticket, to: &mut [u8]) -> DeviceResult<()> {
        self.enter()?;
        self.pinned.end_read(ticket, to)
    }

    fn begin_capture(&self) -> DeviceResult<()> {
        self.enter()?;
        stream_capture::begin(self.queue)
    }

    fn end_capture(&self) -> DeviceResult<Graph> {
        self.enter()?;
        stream_capture::end(self.queue)
    }

    fn replay(&self, graph: Graph) -> DeviceResult<()> {
        self.enter()?;
        stream_capture::replay(graph, self.queue)
    }

    fn release_graph(&self, graph: Graph) {
        if self.enter().is_ok() {
            stream_capture::release(graph);
        }
    }
}
