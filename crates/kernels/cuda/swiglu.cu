// y = silu(g) · u, and back.

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

KERNEL swiglu_forward(bf16 *y, const bf16 *gate, const bf16 *up, u64 count) {
    u64 step = (u64)gridDim.x * blockDim.x * GROUP;
    for (u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * GROUP; at < count; at += step) {
        int end = count - at < GROUP ? (int)(count - at) : GROUP;
        float g[GROUP], u[GROUP];
        load_group(g, gate + at, end);
        load_group(u, up + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) g[i] = g[i] * sigmoid(g[i]) * u[i];
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
        for (int i = 0; i < GROUP; i++) {
            float s = sigmoid(g[i]), open = g[i] * s;
            float slope = s * (1.0f + g[i] * (1.0f - s));
            float dgate = d[i] * u[i] * slope, dup = d[i] * open;
            d[i] = open * u[i];
            g[i] = dgate;
            u[i] = dup;
        }
        store_group(dy + at, d, end);
        store_group(gate + at, g, end);
        store_group(up + at, u, end);
    }
}
