// Σ x·y of blocks of 4096 numbers, how many numbers are infinite or none at all, and zeros: all tensors
// in one launch, a block for each 4096 numbers.

#define BLOCK 4096

struct Tensor {
    float *x, *y;
    u64 count, first_block;
};

// A block's own numbers.
struct Range {
    u64 begin, end;
    __device__ __forceinline__ Range(const Tensor &tensor) {
        begin = (blockIdx.x - tensor.first_block) * BLOCK;
        end = begin + BLOCK < tensor.count ? begin + BLOCK : tensor.count;
    }
};

KERNEL dot_blocks(float *sums, const Tensor *tensors, u32 count) {
    __shared__ float scratch[64];
    const Tensor tensor = tensor_of_block(tensors, count);
    Range range(tensor);
    float sum = 0.0f;
    for (u64 at = range.begin + threadIdx.x; at < range.end; at += blockDim.x)
        sum = fmaf(tensor.x[at], tensor.y[at], sum);
    sum = sum_over_x(sum, scratch);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// `y` is where a tensor's count goes.
KERNEL count_not_finite(const Tensor *tensors, u32 count) {
    const Tensor tensor = tensor_of_block(tensors, count);
    Range range(tensor);
    u32 own = 0;
    for (u64 at = range.begin + threadIdx.x; at < range.end; at += blockDim.x)
        own += (__float_as_uint(tensor.x[at]) & 0x7f800000u) == 0x7f800000u;
    if (own) atomicAdd((u32 *)tensor.y, own);
}

KERNEL clear_tensors(const Tensor *tensors, u32 count) {
    const Tensor tensor = tensor_of_block(tensors, count);
    Range range(tensor);
    for (u64 at = range.begin + threadIdx.x; at < range.end; at += blockDim.x) tensor.x[at] = 0.0f;
}
