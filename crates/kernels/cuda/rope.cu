// The two halves of a head are turned as pairs of coordinates, in place. A thread takes eight pairs.

KERNEL rope_turn(bf16 *x, u64 rows, u64 heads, u64 size, u64 stride, const float *cosines,
                 const float *sines, const u32 *positions, u32 known, float sign) {
    u64 half = size / 2, groups = (half + GROUP - 1) / GROUP, all = rows * heads * groups;
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x; index < all; index += step) {
        u64 group = divided(index, groups), row = divided(group, heads);
        u64 at = (index - group * groups) * GROUP, head = group - row * heads;
        u32 position = positions[row];
        if (position >= known) __trap();
        bf16 *low = x + row * stride + head * size + at, *high = low + half;
        int end = half - at < GROUP ? (int)(half - at) : GROUP;
        float a[GROUP], b[GROUP], c[GROUP], s[GROUP];
        load_group(a, low, end);
        load_group(b, high, end);
        load_group(c, cosines + (u64)position * half + at, end);
        load_group(s, sines + (u64)position * half + at, end);
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            float turned = a[i] * c[i] - b[i] * (s[i] * sign);
            b[i] = b[i] * c[i] + a[i] * (s[i] * sign);
            a[i] = turned;
        }
        store_group(low, a, end);
        store_group(high, b, end);
    }
}
