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

// The same, and every logit as -e^(l - o) in bf16, o being the target's: divided by the sum of these a
// probability, without a second pass over the logits. A warp takes two tiles, so that more is on its way.
KERNEL_OF(256, 1) head_tiles_and_weights(Tile *tiles, bf16 *weights, const float *logits, u64 stride, const u32 *targets,
                                         u64 rows, u32 vocabulary, u32 count) {
    const u32 pairs = (count + 1) / 2;
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / pairs;
    if (row >= rows) return;
    const u32 target = targets[row], tile = (u32)(warp % pairs) * 2;
    if (target >= vocabulary) __trap();
    logits += row * stride, weights += row * stride, tiles += row * count;
    float all[2][8];
    int there[2];
#pragma unroll
    for (int n = 0; n < 2; n++) {
        const u32 first = (tile + n) * TILE;
        there[n] = first < vocabulary ? min((u32)TILE, vocabulary - first) : 0;
        load_tile(all[n], logits + first, there[n]);
    }
    const float own = logits[target];
#pragma unroll
    for (int n = 0; n < 2; n++) {
        if (there[n] == 0) break;
        float *x = all[n];
        bf16 *to = weights + (tile + n) * TILE;
        const Tile known = tile_of(x);
        if (threadIdx.x % 32 == 0) tiles[tile + n] = known;
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = -exponential(x[i] - own);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int at = place_in_tile(half * 4);
            if (at + 4 <= there[n]) {
                *(uint2 *)(to + at) =
                    make_uint2(rounded_pair(x[half * 4], x[half * 4 + 1]), rounded_pair(x[half * 4 + 2], x[half * 4 + 3]));
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    if (at + i < there[n]) store(to + at + i, x[half * 4 + i]);
            }
        }
    }
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

// A logit may be so much larger than the target's that all powers and their sum are finite.
#define MOST_ABOVE_TARGET 60.0f

// A thread for each row: the target's place among its weights, and what they are to be multiplied by; less
// than zero where the target's logit is too small beside others.
KERNEL head_targets(bf16 *weights, float *factors, const float *logits, u64 stride, const u32 *targets, const float *lse,
                    u64 rows) {
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows) return;
    u64 own = at * stride + targets[at];
    double above = (double)lse[at] - (double)logits[own];
    bool good = above <= MOST_ABOVE_TARGET;
    factors[at] = good ? (float)exp(-above) : -1.0f;
    if (good) store(weights + own, (float)expm1(above));
}

// The gradients of rows whose targets are too small, from their logits and by themselves: a block for each row.
KERNEL_OF(256, 1) head_redo(bf16 *to, float *factors, const float *logits, u64 stride, const u32 *targets, const float *lses,
                            u32 vocabulary) {
    u64 row = blockIdx.x;
    if (factors[row] >= 0.0f) return;
    float lse = lses[row];
    for (u32 first = threadIdx.x * GROUP; first < vocabulary; first += blockDim.x * GROUP) {
        int count = min((u32)GROUP, vocabulary - first);
        float x[GROUP];
        load_group(x, logits + row * stride + first, count);
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            float back = -exponential(x[i] - lse);
            x[i] = first + i == targets[row] ? back + 1.0f : back;
        }
        store_group(to + row * stride + first, x, count);
    }
    __syncthreads();
    if (threadIdx.x == 0) factors[row] = 1.0f;
}

struct Signals {
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
    float a = scale * signals.dlogp[row], b = scale * signals.dentropy[row];
    float lse = signals.lse[row], entropy = signals.entropy[row];
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
