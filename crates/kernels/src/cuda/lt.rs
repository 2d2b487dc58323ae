//! Products by cuBLASLt: descriptions, candidates and calls.
//!
//! The library's matrices lie by columns, so it is asked for the transpose: `toᵀ = bᵀ · aᵀ`.

#![expect(unsafe_code, reason = "calls into cuBLASLt")]

use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::cublaslt::sys as lt;
use cudarc::driver::sys as cu;
use lt::cublasLtMatmulDescAttributes_t as DescAttribute;
use lt::cublasLtMatmulPreferenceAttributes_t as PreferenceAttribute;

use super::driver::{Addend, Algorithm, Format, Operands, Order, Product};
use super::error::{DeviceError, DeviceResult};

/// How many candidates are asked for.
const CANDIDATES: usize = 16;

/// Memory that an algorithm may use beside its operands.
pub(crate) const WORKSPACE_BYTES: usize = 64 << 20;

/// No division of the inner side, and operands that begin at multiples of 16 bytes.
const SMALL_PREFERENCES: [(PreferenceAttribute, u32); 5] = [
    (PreferenceAttribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 0),
    (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 16),
    (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 16),
    (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 16),
    (PreferenceAttribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 16),
];

/// The library and the stream it works on.
#[derive(Debug)]
pub(crate) struct Lt {
    handle: lt::cublasLtHandle_t,
    stream: cu::CUstream,
    workspace: OnceLock<u64>,
    /// Held during a call. Products of more tiles than fit at a time clear a counter in the workspace and then
    /// count with it: what another thread asks for must not come between the two.
    calling: Mutex<()>,
}

impl Lt {
    pub(crate) fn new(stream: cu::CUstream) -> DeviceResult<Self> {
        let mut handle = ptr::null_mut();
        // SAFETY: a context is current, and the handle is ours.
        done("cublasLtCreate", unsafe { lt::cublasLtCreate(&raw mut handle) })?;
        Ok(Self { handle, stream, workspace: OnceLock::new(), calling: Mutex::new(()) })
    }

    /// The library's version.
    pub(crate) fn version() -> u64 {
        // SAFETY: the library was opened.
        unsafe { lt::cublasLtGetVersion() as u64 }
    }

    pub(crate) fn candidates(&self, product: &Product) -> DeviceResult<Vec<Algorithm>> {
        let description = Description::new(product)?;
        let mut preference = ptr::null_mut();
        let bytes = WORKSPACE_BYTES;
        let success = lt::cublasStatus_t::CUBLAS_STATUS_SUCCESS;
        // SAFETY: pointers to values of the sizes given; results are read as far as the library says
        // it wrote them.
        let results = unsafe {
            let made = lt::cublasLtMatmulPreferenceCreate(&raw mut preference);
            done("cublasLtMatmulPreferenceCreate", made)?;
            let memory = PreferenceAttribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            let (value, size) = ((&raw const bytes).cast(), size_of::<usize>());
            lt::cublasLtMatmulPreferenceSetAttribute(preference, memory, value, size);
            for (which, value) in SMALL_PREFERENCES {
                let (value, size) = ((&raw const value).cast(), size_of::<u32>());
                lt::cublasLtMatmulPreferenceSetAttribute(preference, which, value, size);
            }
            let mut results: Vec<lt::cublasLtMatmulHeuristicResult_t> =
                vec![std::mem::zeroed(); CANDIDATES];
            let mut count = 0;
            let found = lt::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                description.product,
                description.b,
                description.a,
                description.to,
                description.to,
                preference,
                i32::try_from(CANDIDATES).unwrap_or(1),
                results.as_mut_ptr(),
                &raw mut count,
            );
            lt::cublasLtMatmulPreferenceDestroy(preference);
            results.truncate(if found == success {
                usize::try_from(count).unwrap_or(0)
            } else {
                0
            });
            results
        };
        let good = results.iter().filter(|result| result.state == success);
        Ok(good.map(|result| Algorithm(result.algo.data)).collect())
    }

    pub(crate) fn multiply(
        &self,
        product: &Product,
        operands: &Operands,
        by: &Algorithm,
    ) -> DeviceResult<()> {
        let description = Description::new(product)?;
        let algorithm = lt::cublasLtMatmulAlgo_t { data: by.0 };
        let workspace = self.workspace()?;
        let Operands { a, b, to, residual } = *operands;
        let addend = if product.addend == Addend::Residual { residual } else { to };
        let (scale, factor) = (product.scale(), product.addend_factor());
        let _calling = self.calling.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the launcher gives addresses of matrices of the described shapes.
        done("cublasLtMatmul", unsafe {
            lt::cublasLtMatmul(
                self.handle,
                description.product,
                (&raw const scale).cast(),
                b as *const _,
                description.b,
                a as *const _,
                description.a,
                (&raw const factor).cast(),
                addend as *const _,
                description.to,
                to as *mut _,
                description.to,
                &raw const algorithm,
                workspace as *mut _,
                WORKSPACE_BYTES,
                self.stream.cast(),
            )
        })
    }

    fn workspace(&self) -> DeviceResult<u64> {
        if let Some(&address) = self.workspace.get() {
            return Ok(address);
        }
        let mut address = 0;
        // SAFETY: the number is ours.
        let result = unsafe { cu::cuMemAlloc_v2(&raw mut address, WORKSPACE_BYTES) };
        if result != cu::CUresult::CUDA_SUCCESS {
            return Err(DeviceError::OutOfMemory { asked: WORKSPACE_BYTES, free: 0, total: 0 });
        }
        Ok(*self.workspace.get_or_init(|| address))
    }
}

fn done(call: &'static str, status: lt::cublasStatus_t) -> DeviceResult<()> {
    match status {
        lt::cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        other => Err(DeviceError::Call { call, code: format!("{other:?}") }),
    }
}

/// A product as the library describes it.
struct Description {
    product: lt::cublasLtMatmulDesc_t,
    a: lt::cublasLtMatrixLayout_t,
    b: lt::cublasLtMatrixLayout_t,
    to: lt::cublasLtMatrixLayout_t,
}

impl Description {
    fn new(product: &Product) -> DeviceResult<Self> {
        let Product { rows, cols, inner, a, b, to_stride, to_format, .. } = *product;
        let none = ptr::null_mut();
        let mut all = Self { product: ptr::null_mut(), a: none, b: none, to: none };
        let (f32, bf16) = (lt::cudaDataType_t::CUDA_R_32F, lt::cudaDataType_t::CUDA_R_16BF);
        let compute = lt::cublasComputeType_t::CUBLAS_COMPUTE_32F;
        // SAFETY: the description is ours.
        let made = unsafe { lt::cublasLtMatmulDescCreate(&raw mut all.product, compute, f32) };
        done("cublasLtMatmulDescCreate", made)?;
        // By columns, `b` comes first and a matrix by rows is its own transpose.
        for (which, order) in [
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSA, b.0),
            (DescAttribute::CUBLASLT_MATMUL_DESC_TRANSB, a.0),
        ] {
            let operation = i32::from(order == Order::ByColumns);
            let (value, size) = ((&raw const operation).cast(), size_of::<i32>());
            // SAFETY: a value of the size given.
            let set =
                unsafe { lt::cublasLtMatmulDescSetAttribute(all.product, which, value, size) };
            done("cublasLtMatmulDescSetAttribute", set)?;
        }
        let stored = |order, (outer, within): (u32, u32)| match order {
            Order::ByRows => (within, outer),
            Order::ByColumns => (outer, within),
        };
        let to_type = if to_format == Format::F32 { f32 } else { bf16 };
        let layouts = [
            (&raw mut all.a, bf16, stored(a.0, (rows, inner)), a.1),
            (&raw mut all.b, bf16, stored(b.0, (inner, cols)), b.1),
            (&raw mut all.to, to_type, (cols, rows), to_stride),
        ];
        for (layout, kind, (height, width), stride) in layouts {
            let (height, width) = (u64::from(height), u64::from(width));
            let stride = i64::try_from(stride).unwrap_or(0);
            // SAFETY: the layouts are ours.
            let made =
                unsafe { lt::cublasLtMatrixLayoutCreate(layout, kind, height, width, stride) };
            done("cublasLtMatrixLayoutCreate", made)?;
        }
        Ok(all)
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        // SAFETY: each was created, or is none, which the library refuses without harm.
        unsafe {
            for layout in [self.a, self.b, self.to] {
                lt::cublasLtMatrixLayoutDestroy(layout);
            }
            lt::cublasLtMatmulDescDestroy(self.product);
        }
    }
}
