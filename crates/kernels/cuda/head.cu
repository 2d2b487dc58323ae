// From logits to log-probabilities, entropies and the gradients of logits. `tiles.cuh` is in front.

// A warp for each row and tile: 8 of them a block.
KERNEL_OF(256, 1) head_tiles(Tile *tiles, const float *logits, u64 stride, u64 rows, u32 vocabulary, u32 count) {
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / count;
    if (row >= rows) return;
    u32 first = (u32)(warp % count) * TILE;
    float x[8];
    load_tile(x, logits + row * stride + first, min((u32)TILE, vocabulary - first));
    Tile tile = tile_of(x);
    if (threadIdx.x % 32 == 0) tiles[warp] = tile;
}

struct Known {
    float *logp, *entropy, *lse;
    u64 unused;
};

// A warp for each row: 8 of them a block. A target beyond the vocabulary is a fault.
KERNEL_OF(256, 1) head_rows(Known known, const Tile *tiles, const float *logits, u64 stride, const u32 *targets,
                            u64 rows, u32 vocabulary, u32 count) {
    u64 at = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (at >= rows) return;
    u32 target = targets[at];
    if (target >= vocabulary) __trap();
    Row row = row_of(tiles + at * count, count);
    if (threadIdx.x % 32 != 0) return;
    float lse = lse_of(row);
    known.logp[at] = logits[at * stride + target] - lse;
    known.entropy[at] = entropy_of(row);
    known.lse[at] = lse;
}

struct Signals {
    // Without the first, that of log-probabilities is 1 and that of entropies 0.
    const float *dlogp, *dentropy, *lse, *entropy;
};

// The gradient of every logit, scale · (a · ([token = target] - p) - b · p · (l - lse + H)), rounded
// once. Eight tokens a thread, `pieces` blocks a row.
KERNEL_OF(256, 1) head_gradient(bf16 *to, u64 to_stride, const float *logits, u64 stride, Signals signals,
                                const u32 *targets, u32 vocabulary, u32 pieces, float scale) {
    u64 row = blockIdx.x / pieces;
    u32 first = (blockIdx.x % pieces * blockDim.x + threadIdx.x) * GROUP;
    if (first >= vocabulary) return;
    u32 target = targets[row];
    if (target >= vocabulary) __trap();
    int count = min((u32)GROUP, vocabulary - first);
    float a = scale * (signals.dlogp ? signals.dlogp[row] : 1.0f);
    float b = signals.dlogp ? scale * signals.dentropy[row] : 0.0f;
    float lse = signals.lse[row], entropy = signals.dlogp ? signals.entropy[row] : 0.0f;
    float x[GROUP];
    load_group(x, logits + row * stride + first, count);
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        float logp = x[i] - lse, p = exponential(logp);
        float back = p == 0.0f ? 0.0f : -p * (b == 0.0f ? a : a + b * (logp + entropy));
        x[i] = first + i == target ? back + a : back;
    }
    store_group(to + row * to_stride + first, x, count);
}

// Rows, each times a number of its own: a block for each row.
KERNEL scale_rows(bf16 *to, u64 to_stride, const bf16 *from, u64 stride, const float *factors, u64 cols) {
    u64 row = blockIdx.x;
    float factor = factors[row];
    for (u64 at = (u64)threadIdx.x * GROUP; at < cols; at += (u64)blockDim.x * GROUP) {
        int count = (int)min((u64)GROUP, cols - at);
        float x[GROUP];
        load_group(x, from + row * stride + at, count);
#pragma unroll
        for (int i = 0; i < GROUP; i++) x[i] *= factor;
        store_group(to + row * to_stride + at, x, count);
    }
}
