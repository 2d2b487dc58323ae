// y = silu(g) · u, and back.

KERNEL swiglu_forward(bf16 *y, const bf16 *gate, const bf16 *up, u64 count) {
    u64 step = (u64)gridDim.x * blockDim.x * GROUP;
    for (u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * GROUP; at < count; at += step) {
        int end = count - at < GROUP ? (int)(count - at) : GROUP;
        float g[GROUP], u[GROUP];
        load_group(g, gate + at, end);
        load_group(u, up + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) g[i] = swiglu(g[i], u[i]);
        store_group(y + at, g, end);
    }
}

// The gate and what goes through it become their gradients, and dy becomes y.
KERNEL swiglu_backward(bf16 *dy, bf16 *gate, bf16 *up, u64 count) {
    u64 step = (u64)gridDim.x * blockDim.x * GROUP;
    for (u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * GROUP; at < count; at += step) {
        int end = count - at < GROUP ? (int)(count - at) : GROUP;
        float d[GROUP], g[GROUP], u[GROUP];
        load_group(d, dy + at, end);
        load_group(g, gate + at, end);
        load_group(u, up + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) swiglu_back(d[i], g[i], u[i]);
        store_group(dy + at, d, end);
        store_group(gate + at, g, end);
        store_group(up + at, u, end);
    }
}

// The same where the gate and what goes through it lie side by side in a row, and rows apart. A block
// for each row.
KERNEL swiglu_rows_forward(bf16 *y, u64 y_stride, const bf16 *both, u64 both_stride, u64 rows, u64 width) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (u64 at = (u64)threadIdx.x * GROUP; at < width; at += (u64)blockDim.x * GROUP) {
            int end = width - at < GROUP ? (int)(width - at) : GROUP;
            float g[GROUP], u[GROUP];
            load_group(g, both + row * both_stride + at, end);
            load_group(u, both + row * both_stride + width + at, end);
#pragma unroll
            for (int i = 0; i < GROUP; i++) g[i] = swiglu(g[i], u[i]);
            store_group(y + row * y_stride + at, g, end);
        }
}

KERNEL swiglu_rows_backward(bf16 *dy, u64 dy_stride, bf16 *both, u64 both_stride, u64 rows, u64 width) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (u64 at = (u64)threadIdx.x * GROUP; at < width; at += (u64)blockDim.x * GROUP) {
            int end = width - at < GROUP ? (int)(width - at) : GROUP;
            bf16 *gate = both + row * both_stride + at, *up = gate + width;
            float d[GROUP], g[GROUP], u[GROUP];
            load_group(d, dy + row * dy_stride + at, end);
            load_group(g, gate, end);
            load_group(u, up, end);
#pragma unroll
            for (int i = 0; i < GROUP; i++) swiglu_back(d[i], g[i], u[i]);
            store_group(dy + row * dy_stride + at, d, end);
            store_group(gate, g, end);
            store_group(up, u, end);
        }
}
