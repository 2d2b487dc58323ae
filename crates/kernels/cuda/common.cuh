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

// Four sizes, strides or addresses, as one argument of a kernel.
struct Words {
    u64 at[4];
};

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

__device__ __forceinline__ void unpack_group(float *x, uint4 bits) {
    u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = __uint_as_float(words[i] << 16);
        x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
}

// Eight numbers, as one access of 16 bytes (two for f32) where the address allows it, else one by
// one. Numbers beyond `count` are zero and are not touched.
__device__ __forceinline__ void load_group(float *x, const bf16 *from, int count) {
    if (count >= GROUP && aligned(from)) {
        unpack_group(x, *(const uint4 *)from);
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

// A tree over 2, 4 or 8 numbers: the second half is added to the first until one is left.
__device__ __forceinline__ float sum_of_warps(const float *x, int warps) {
    if (warps == 8) return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
    if (warps == 4) return (x[0] + x[2]) + (x[1] + x[3]);
    return x[0] + x[1];
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
    return sum_of_warps(own, warps);
}

// Two such sums at a time; `scratch` has room for 16 numbers for each y.
__device__ __forceinline__ float2 sums_over_x(float2 x, float *scratch) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        x.x += __shfl_xor_sync(~0u, x.x, distance);
        x.y += __shfl_xor_sync(~0u, x.y, distance);
    }
    int warps = blockDim.x / 32;
    if (warps == 1) return x;
    float *own = scratch + threadIdx.y * 16;
    __syncthreads();
    if (threadIdx.x % 32 == 0) own[threadIdx.x / 32] = x.x, own[8 + threadIdx.x / 32] = x.y;
    __syncthreads();
    return make_float2(sum_of_warps(own, warps), sum_of_warps(own + 8, warps));
}

// A quotient; both are small as a rule, and then it is quick.
__device__ __forceinline__ u64 divided(u64 a, u64 b) { return (a | b) >> 32 ? a / b : (u32)a / (u32)b; }

// Where a number of a head lies in a page of the KV cache, which holds tokens one after another. In heads of
// 64 and of 128 numbers groups of 8 change places by the token: the page can be copied as it is into shared
// memory, where the same groups of 8 tokens are then in other banks.
__device__ __forceinline__ u32 turned_group(u32 token, u32 group, u32 size) {
    return size == 64 || size == 128 ? group ^ (token & 7) : group;
}
__device__ __forceinline__ u32 place_in_page(u32 token, u32 place, u32 size) {
    return token * size + turned_group(token, place / GROUP, size) * GROUP + place % GROUP;
}

// Programmatic dependent launch: a kernel that is launched so begins while kernels before it still run. What
// they wrote is there after `wait_for_kernels_before`, which every such kernel calls; before it, only what was
// written earlier may be read: weights, and tables that a whole launch or copy lies behind.

__device__ __forceinline__ void wait_for_kernels_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel may begin, if it is launched so: when all blocks of this one have said so.
__device__ __forceinline__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// The tensor core and what feeds it.

__device__ __forceinline__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }

__device__ __forceinline__ void copy_16_bytes(u32 to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0));
}

__device__ __forceinline__ void load_tiles(u32 *r, u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}

__device__ __forceinline__ void load_tiles_turned(u32 *r, u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}

__device__ __forceinline__ void multiply_add(float *c, const u32 *a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ u32 rounded_pair(float low, float high) { return (u32)rounded(low) | (u32)rounded(high) << 16; }

// Within a few units of the last place of f32, in four instructions: what uses it is rounded to bf16.
__device__ __forceinline__ float sigmoid(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(1.0f + power_of_two(x * -1.44269502f)));
    return y;
}

// y = silu(gate) · up.
__device__ __forceinline__ float swiglu(float gate, float up) { return gate * sigmoid(gate) * up; }

// And back: the gate and what goes through it become their gradients, and dy becomes y.
__device__ __forceinline__ void swiglu_back(float &dy, float &gate, float &up) {
    const float s = sigmoid(gate), open = gate * s, slope = s * (1.0f + gate * (1.0f - s));
    const float dgate = dy * up * slope, dup = dy * open;
    dy = open * up;
    gate = dgate;
    up = dup;
}
