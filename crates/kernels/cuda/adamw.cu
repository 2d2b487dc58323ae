// AdamW on masters in f32, all tensors in one launch: the formula of processors, operation by operation,
// and so its bits. What products use of a weight is rounded in the same pass.

struct Tensor {
    float *weight, *mean, *square;
    const float *gradient;
    // Rows of `columns` numbers, `stride` apart; none where there is no copy.
    bf16 *copy;
    u64 columns, stride, count, first_block;
    float kept;
    u32 unused;
};

// Numbers of a block: `BLOCK` of the launcher.
#define BLOCK 8192

// The copy of eight numbers, or as many as there are.
__device__ __forceinline__ void put_copy(const Tensor &tensor, u64 at, const float *w, int count) {
    u64 row = divided(at, tensor.columns), column = at - row * tensor.columns;
    if (column + count <= tensor.columns) {
        store_group(tensor.copy + row * tensor.stride + column, w, count);
        return;
    }
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        if (i >= count) return;
        store(tensor.copy + row * tensor.stride + column, w[i]);
        if (++column == tensor.columns) column = 0, row++;
    }
}

KERNEL_OF(256, 1) adamw_all(const Tensor *tensors, u32 tensor_count, float toward, float beta2, float fresh, float rate,
                            float root, float epsilon, float scale) {
    const Tensor tensor = tensor_of_block(tensors, tensor_count);
    u64 begin = (blockIdx.x - tensor.first_block) * BLOCK;
    u64 end = begin + BLOCK < tensor.count ? begin + BLOCK : tensor.count;
    for (u64 at = begin + threadIdx.x * GROUP; at < end; at += 256 * GROUP) {
        int count = end - at < GROUP ? (int)(end - at) : GROUP;
        float w[GROUP], m[GROUP], v[GROUP], g[GROUP];
        load_group(w, tensor.weight + at, count);
        load_group(m, tensor.mean + at, count);
        load_group(v, tensor.square + at, count);
        load_group(g, tensor.gradient + at, count);
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            float slope = g[i] * scale;
            m[i] = m[i] + toward * (slope - m[i]);
            v[i] = beta2 * v[i] + fresh * slope * slope;
            w[i] = w[i] * tensor.kept - rate * m[i] / (sqrtf(v[i]) / root + epsilon);
        }
        store_group(tensor.weight + at, w, count);
        store_group(tensor.mean + at, m, count);
        store_group(tensor.square + at, v, count);
        if (tensor.copy) put_copy(tensor, at, w, count);
    }
}
