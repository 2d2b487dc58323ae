// y = x · r · g over heads inside rows, and back. A head is one row of threads (threadIdx.x); how
// many there are depends on the head's size alone, so its sums have one order everywhere.

struct Shape {
    u64 rows, heads, size, stride;
};

// The block's head of a matrix, or none.
#define HEAD(index, shape) (((index) / (shape).heads) * (shape).stride + ((index) % (shape).heads) * (shape).size)

// A thread's numbers of a head: where a head has one group for each thread, they are read once and
// kept; longer ones are read again where they are needed. The order of sums is the same.
#define EACH_OWN(at, size)                                                                         \
    for (u64 at = (u64)threadIdx.x * GROUP; at < (size); at += (u64)blockDim.x * GROUP)

__device__ __forceinline__ int left(u64 at, u64 size) { return size - at < GROUP ? (int)(size - at) : GROUP; }

__device__ __forceinline__ float reciprocal(float squares, u64 size, float epsilon) {
    return 1.0f / sqrtf(squares / (float)size + epsilon);
}

__device__ __forceinline__ float sum_of_squares(const float *x, float sum) {
#pragma unroll
    for (int i = 0; i < GROUP; i++) sum = fmaf(x[i], x[i], sum);
    return sum;
}

__device__ __forceinline__ void scaled(bf16 *y, const float *x, const bf16 *gain, float r, int end) {
    float a[GROUP], g[GROUP];
    load_group(g, gain, end);
#pragma unroll
    for (int i = 0; i < GROUP; i++) a[i] = x[i] * r * g[i];
    store_group(y, a, end);
}

KERNEL rms_norm_forward(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    __shared__ float scratch[64];
    u64 index = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    bool there = index < from.rows * from.heads;
    u64 size = there ? from.size : 0, first = (u64)threadIdx.x * GROUP;
    x += there ? HEAD(index, from) : 0;
    y += there ? HEAD(index, to) : 0;
    float own[GROUP], sum = 0.0f;
    if (from.size <= (u64)blockDim.x * GROUP) {
        if (first < size) {
            load_group(own, x + first, left(first, size));
            sum = sum_of_squares(own, sum);
        }
        float r = reciprocal(sum_over_x(sum, scratch), size, epsilon);
        if (first < size) scaled(y + first, own, gain + first, r, left(first, size));
        return;
    }
    EACH_OWN(at, size) {
        load_group(own, x + at, left(at, size));
        sum = sum_of_squares(own, sum);
    }
    float r = reciprocal(sum_over_x(sum, scratch), size, epsilon);
    EACH_OWN(at, size) {
        load_group(own, x + at, left(at, size));
        scaled(y + at, own, gain + at, r, left(at, size));
    }
}

// Both sums of the way back: Σ x² and Σ dy · g · x.
struct Sums {
    float squares, products;
};

__device__ __forceinline__ Sums with_group(Sums sums, const float *x, const float *z) {
    sums.squares = sum_of_squares(x, sums.squares);
#pragma unroll
    for (int i = 0; i < GROUP; i++) sums.products = fmaf(z[i], x[i], sums.products);
    return sums;
}

__device__ __forceinline__ void load_slopes(float *z, const bf16 *dy, const bf16 *gain, int end) {
    float g[GROUP];
    load_group(z, dy, end);
    load_group(g, gain, end);
#pragma unroll
    for (int i = 0; i < GROUP; i++) z[i] = z[i] * g[i];
}

__device__ __forceinline__ void put_gradient(bf16 *dx, int kept, const float *x, const float *z, float r, float shift, int end) {
    float a[GROUP], old[GROUP];
    if (kept) load_group(old, dx, end);
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        float fresh = z[i] * r - x[i] * shift;
        a[i] = kept ? old[i] + fresh : fresh;
    }
    store_group(dx, a, end);
}

// dx = [dx +] r · z - x · r³ · Σ(z·x) / d with z = dy · g. Leaves r of each head in `reciprocals`,
// if there is room for it.
KERNEL rms_norm_backward(bf16 *dx, int kept, const bf16 *x, Shape from, const bf16 *dy, Shape to,
                         const bf16 *gain, float epsilon, float *reciprocals) {
    __shared__ float scratch[64];
    u64 index = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    bool there = index < from.rows * from.heads;
    u64 size = there ? from.size : 0, first = (u64)threadIdx.x * GROUP;
    x += there ? HEAD(index, from) : 0;
    dx += there ? HEAD(index, from) : 0;
    dy += there ? HEAD(index, to) : 0;
    float a[GROUP], z[GROUP];
    Sums sums = {0.0f, 0.0f};
    EACH_OWN(at, size) {
        load_group(a, x + at, left(at, size));
        load_slopes(z, dy + at, gain + at, left(at, size));
        sums = with_group(sums, a, z);
    }
    float r = reciprocal(sum_over_x(sums.squares, scratch), size, epsilon);
    float shift = sum_over_x(sums.products, scratch) * r * r * r / (float)size;
    if (from.size <= (u64)blockDim.x * GROUP) {
        if (first < size) put_gradient(dx + first, kept, a, z, r, shift, left(first, size));
    } else {
        EACH_OWN(at, size) {
            load_group(a, x + at, left(at, size));
            load_slopes(z, dy + at, gain + at, left(at, size));
            put_gradient(dx + at, kept, a, z, r, shift, left(at, size));
        }
    }
    if (there && reciprocals && threadIdx.x == 0) reciprocals[index] = r;
}

// dg += Σ dy · x · r: within each sequence from zero, then added. A block has 32 places of a head
// and eight rows of threads; a sequence's heads are dealt to them in turn and their sums joined in
// one order.
KERNEL rms_norm_gain(float *dgain, const u32 *offsets, u32 sequences, const bf16 *x, Shape from,
                     const bf16 *dy, Shape to, const float *reciprocals) {
    __shared__ float sums[8][33];
    u64 place = (u64)blockIdx.x * 32 + threadIdx.x;
    bool there = place < from.size;
    float total = there && threadIdx.y == 0 ? dgain[place] : 0.0f;
    for (u32 sequence = 0; sequence < sequences; sequence++) {
        u64 end = offsets[sequence + 1] * from.heads;
        float sum = 0.0f;
        for (u64 index = offsets[sequence] * from.heads + threadIdx.y; there && index < end; index += 8)
            sum += load(dy + HEAD(index, to) + place) * load(x + HEAD(index, from) + place) * reciprocals[index];
        sums[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (threadIdx.y < half) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
            __syncthreads();
        }
        total += sums[0][threadIdx.x];
        __syncthreads();
    }
    if (there && threadIdx.y == 0) dgain[place] = total;
}
