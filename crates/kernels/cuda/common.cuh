// Put in front of every source: no header of a toolkit is needed to compile them.
//
// An activation is a bf16, kept as its 16 bits. Arithmetic is f32. Programs are compiled with
// --fmad=false: a product is fused with a sum only where fmaf is written, so that two kernels that
// compute the same formula give the same bits.

typedef unsigned short bf16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define KERNEL extern "C" __global__ void
// One that is launched with so many threads a block: registers are shared among these, and among
// as many blocks as are to have room at a time.
#define KERNEL_OF(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)

// Numbers that a thread takes at a time: 16 bytes of bf16. Part of the definition of every sum.
#define GROUP 8

__device__ __forceinline__ float load(const bf16 *from) { return __uint_as_float((u32)*from << 16); }
__device__ __forceinline__ float load(const float *from) { return *from; }

// Rounded to nearest, halves to even.
__device__ __forceinline__ bf16 rounded(float x) {
    bf16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ __forceinline__ void store(bf16 *to, float x) { *to = rounded(x); }
__device__ __forceinline__ void store(float *to, float x) { *to = x; }

__device__ __forceinline__ bool aligned(const void *at) { return ((u64)at & 15) == 0; }

// Eight numbers, as one access of 16 bytes (two for f32) where the address allows it, else one by
// one. Numbers beyond `count` are zero and are not touched.
__device__ __forceinline__ void load_group(float *x, const bf16 *from, int count) {
    if (count >= GROUP && aligned(from)) {
        uint4 bits = *(const uint4 *)from;
        u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[2 * i] = __uint_as_float(words[i] << 16);
            x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
        }
    } else {
#pragma unroll
        for (int i = 0; i < GROUP; i++) x[i] = i < count ? load(from + i) : 0.0f;
    }
}

__device__ __forceinline__ void load_group(float *x, const float *from, int count) {
    if (count >= GROUP && aligned(from)) {
        float4 a = ((const float4 *)from)[0], b = ((const float4 *)from)[1];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
    } else {
#pragma unroll
        for (int i = 0; i < GROUP; i++) x[i] = i < count ? from[i] : 0.0f;
    }
}

__device__ __forceinline__ void store_group(bf16 *to, const float *x, int count) {
    if (count >= GROUP && aligned(to)) {
        u32 words[4];
#pragma unroll
        for (int i = 0; i < 4; i++) words[i] = (u32)rounded(x[2 * i]) | (u32)rounded(x[2 * i + 1]) << 16;
        *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
    } else {
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            if (i < count) store(to + i, x[i]);
    }
}

__device__ __forceinline__ void store_group(float *to, const float *x, int count) {
    if (count >= GROUP && aligned(to)) {
        ((float4 *)to)[0] = make_float4(x[0], x[1], x[2], x[3]);
        ((float4 *)to)[1] = make_float4(x[4], x[5], x[6], x[7]);
    } else {
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            if (i < count) to[i] = x[i];
    }
}

// The sum over the threads of a block that have the same threadIdx.y, known to all of them.
// blockDim.x is 32, 64, 128 or 256; `scratch` has room for 8 numbers for each y.
__device__ __forceinline__ float sum_over_x(float x, float *scratch) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
    int warps = blockDim.x / 32;
    if (warps == 1) return x;
    float *own = scratch + threadIdx.y * 8;
    __syncthreads();
    if (threadIdx.x % 32 == 0) own[threadIdx.x / 32] = x;
    __syncthreads();
    for (int half = warps / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) own[threadIdx.x] += own[threadIdx.x + half];
        __syncthreads();
    }
    return own[0];
}
