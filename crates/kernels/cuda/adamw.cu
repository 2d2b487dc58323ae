// AdamW on masters in f32: the formula of processors, operation by operation, and so its bits.

KERNEL adamw_step(float *weight, float *mean, float *square, const float *gradient, u64 count,
                  float kept, float toward, float beta2, float fresh, float rate, float root,
                  float epsilon, float scale) {
    u64 step = (u64)gridDim.x * blockDim.x * GROUP;
    for (u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * GROUP; at < count; at += step) {
        int end = count - at < GROUP ? (int)(count - at) : GROUP;
        float w[GROUP], m[GROUP], v[GROUP], g[GROUP];
        load_group(w, weight + at, end);
        load_group(m, mean + at, end);
        load_group(v, square + at, end);
        load_group(g, gradient + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            float slope = g[i] * scale;
            m[i] = m[i] + toward * (slope - m[i]);
            v[i] = beta2 * v[i] + fresh * slope * slope;
            w[i] = w[i] * kept - rate * m[i] / (sqrtf(v[i]) / root + epsilon);
        }
        store_group(weight + at, w, end);
        store_group(mean + at, m, end);
        store_group(square + at, v, end);
    }
}
