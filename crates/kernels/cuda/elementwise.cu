// Copies, conversions and sums, number by number: a grid of groups of eight.

#define EACH_GROUP(at, count)                                                                      \
    for (u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * GROUP; at < (count);              \
         at += (u64)gridDim.x * blockDim.x * GROUP)

__device__ __forceinline__ int left(u64 at, u64 count) { return count - at < GROUP ? (int)(count - at) : GROUP; }

template <typename To, typename From>
__device__ __forceinline__ void convert(To *to, const From *from, u64 count) {
    EACH_GROUP(at, count) {
        float x[GROUP];
        load_group(x, from + at, left(at, count));
        store_group(to + at, x, left(at, count));
    }
}

KERNEL to_bf16(bf16 *to, const float *from, u64 count) { convert(to, from, count); }

// x += factor · y, as two roundings.
template <typename T>
__device__ __forceinline__ void add_scaled(T *x, const T *y, float factor, u64 count) {
    EACH_GROUP(at, count) {
        float a[GROUP], b[GROUP];
        int end = left(at, count);
        load_group(a, x + at, end);
        load_group(b, y + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) a[i] = a[i] + factor * b[i];
        store_group(x + at, a, end);
    }
}

KERNEL add_bf16(bf16 *x, const bf16 *y, u64 count) { add_scaled(x, y, 1.0f, count); }
KERNEL add_scaled_f32(float *x, const float *y, float factor, u64 count) { add_scaled(x, y, factor, count); }

KERNEL scale_f32(float *x, float factor, u64 count) {
    EACH_GROUP(at, count) {
        float a[GROUP];
        load_group(a, x + at, left(at, count));
#pragma unroll
        for (int i = 0; i < GROUP; i++) a[i] = a[i] * factor;
        store_group(x + at, a, left(at, count));
    }
}

// Rows of `cols` numbers that lie apart, group by group of all rows. The bytes of a number are the same on
// both sides.
KERNEL copy_rows_16(bf16 *to, const bf16 *from, u64 rows, u64 cols, u64 to_stride, u64 from_stride) {
    const u64 across = (cols + GROUP - 1) / GROUP;
    let_next_kernel_begin();
    wait_for_kernels_before();
    for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < rows * across; index += (u64)gridDim.x * blockDim.x) {
        const u64 row = divided(index, across), at = (index - row * across) * GROUP;
        float x[GROUP];
        load_group(x, from + row * from_stride + at, left(at, cols));
        store_group(to + row * to_stride + at, x, left(at, cols));
    }
}

// x += b for every row.
template <typename T>
__device__ __forceinline__ void add_to_rows(T *x, const T *bias, u64 rows, u64 cols, u64 stride) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        for (u64 at = (u64)threadIdx.x * GROUP; at < cols; at += (u64)blockDim.x * GROUP) {
            float a[GROUP], b[GROUP];
            int end = left(at, cols);
            load_group(a, x + row * stride + at, end);
            load_group(b, bias + at, end);
#pragma unroll
            for (int i = 0; i < GROUP; i++) a[i] = a[i] + b[i];
            store_group(x + row * stride + at, a, end);
        }
    }
}

KERNEL add_bias(bf16 *x, const bf16 *bias, u64 rows, u64 cols, u64 stride) {
    add_to_rows(x, bias, rows, cols, stride);
}

KERNEL add_bias_f32(float *x, const float *bias, u64 rows, u64 cols, u64 stride) {
    add_to_rows(x, bias, rows, cols, stride);
}

// db += Σ dy, row by row: the same in one call and in several.
template <typename T>
__device__ __forceinline__ void sum_rows(float *dbias, const T *dy, u64 rows, u64 cols, u64 stride) {
    u64 col = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols) return;
    float sum = dbias[col];
    for (u64 row = 0; row < rows; row++) sum = sum + load(dy + row * stride + col);
    dbias[col] = sum;
}

KERNEL bias_backward(float *dbias, const bf16 *dy, u64 rows, u64 cols, u64 stride) {
    sum_rows(dbias, dy, rows, cols, stride);
}

KERNEL bias_backward_f32(float *dbias, const float *dy, u64 rows, u64 cols, u64 stride) {
    sum_rows(dbias, dy, rows, cols, stride);
}

// Rows of bytes as numbers: one scale for each row of `inputs`.
KERNEL unpack_int8(bf16 *to, const signed char *bytes, const float *scales, u64 inputs, u64 count) {
    EACH_GROUP(at, count) {
        for (int i = 0; i < left(at, count); i++)
            store(to + at + i, (float)bytes[at + i] * scales[(at + i) / inputs]);
    }
}

KERNEL unpack_int8_f32(float *to, const signed char *bytes, const float *scales, u64 inputs, u64 count) {
    EACH_GROUP(at, count) {
        for (int i = 0; i < left(at, count); i++)
            to[at + i] = (float)bytes[at + i] * scales[(at + i) / inputs];
    }
}

// y = x + product, rounded once. A block for each row.
KERNEL add_residual(bf16 *y, u64 y_stride, const bf16 *x, u64 x_stride, const float *product, u64 product_stride, u64 rows, u64 cols) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (u64 at = (u64)threadIdx.x * GROUP; at < cols; at += (u64)blockDim.x * GROUP) {
            float a[GROUP], b[GROUP];
            load_group(a, x + row * x_stride + at, left(at, cols));
            load_group(b, product + row * product_stride + at, left(at, cols));
#pragma unroll
            for (int i = 0; i < GROUP; i++) b[i] += a[i];
            store_group(y + row * y_stride + at, b, left(at, cols));
        }
}

// Rows of f32 as bf16, where rows of the result lie further apart. A block for each row.
KERNEL to_bf16_rows(bf16 *to, u64 to_stride, const float *from, u64 rows, u64 cols) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (u64 at = (u64)threadIdx.x * GROUP; at < cols; at += (u64)blockDim.x * GROUP) {
            float x[GROUP];
            load_group(x, from + row * cols + at, left(at, cols));
            store_group(to + row * to_stride + at, x, left(at, cols));
        }
}
