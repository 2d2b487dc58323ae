// Σ x·y of blocks of 4096 numbers, and how many numbers are infinite or none at all.

#define BLOCK 4096

KERNEL dot_blocks(float *sums, const float *x, const float *y, u64 count) {
    __shared__ float scratch[64];
    u64 begin = (u64)blockIdx.x * BLOCK, end = begin + BLOCK < count ? begin + BLOCK : count;
    float sum = 0.0f;
    for (u64 at = begin + threadIdx.x; at < end; at += blockDim.x) sum = fmaf(x[at], y[at], sum);
    sum = sum_over_x(sum, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

KERNEL count_not_finite(u32 *found, const float *x, u64 count) {
    u32 own = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x)
        own += (__float_as_uint(x[at]) & 0x7f800000u) == 0x7f800000u;
    if (own) atomicAdd(found, own);
}
