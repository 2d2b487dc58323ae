// The gradients of queries, keys and values on Hopper: heads of 128 numbers, an even number of which share
// their keys. `wgmma.cuh` is in front; what is known of each query comes from `attention_backward.cu`.
//
// Bits are those of `attention_backward.cu`: the same sums in the same order. A block has one warp that
// loads and two warpgroups that compute. Nothing is added by two blocks; the one counter hands out pieces
// of work, and who computes a piece changes no bit.

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// d = a · bᵀ of two tiles, over a head.
__device__ __forceinline__ void issue_tiles(float (&d)[32], u32 a, u32 b) {
    wgmma_begin();
    wgmma_64_first(d, along_rows(a, 0), along_rows(b, 0));
#pragma unroll
    for (int k = 1; k < 8; k++) wgmma_64(d, along_rows(a, k), along_rows(b, k));
    wgmma_end();
}

// The same with the first operand in registers.
__device__ __forceinline__ void issue_held(float (&d)[32], const u32 (&a)[8][4], u32 b) {
    wgmma_begin();
    wgmma_held_64_first(d, a[0], along_rows(b, 0));
#pragma unroll
    for (int k = 1; k < 8; k++) wgmma_held_64(d, a[k], along_rows(b, k));
    wgmma_end();
}

// d += a · b over the 64 rows of a tile, a in registers.
__device__ __forceinline__ void issue_sum(float (&d)[64], const u32 (&a)[4][4], u32 b) {
    wgmma_begin();
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_held_128(d, a[k], across_rows(b, k));
    wgmma_end();
}

#endif

// lse as a power of two, and Σ do·o.
struct __align__(8) Stat {
    float lse, delta;
};

// The maps of queries and keys, and of the output's gradient, for each sequence.
struct Input {
    const TensorMap *qkv, *dout;
    const Stat *stats;
    u64 padded;
};

struct List {
    const Work *works;
    // Two zeros before the launch, and zeros again after it; null for a block a piece.
    u32 *tickets;
    u64 pieces;
    // The maps of rows that have the values, for each sequence.
    const TensorMap *values;
};

struct Gradient {
    bf16 *data;
    u64 stride, unused[2];
};

struct Scale {
    // Of a score, and of a score as a power of two.
    float plain, power;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ __forceinline__ u32 next_piece(const List &list) {
    return list.tickets ? gridDim.x + atomicAdd(list.tickets, 1u) : (u32)list.pieces;
}

__device__ __forceinline__ void end_pieces(const List &list) {
    if (list.tickets && atomicAdd(list.tickets + 1, 1u) == gridDim.x - 1) list.tickets[0] = list.tickets[1] = 0;
}

#endif

#define KEYS_STAGES 3
#define KEYS_STAGE (2 * TILE_BYTES + 1024)
#define KEYS_BARRIERS_AT (2 * CONSUMERS * TILE_BYTES + KEYS_STAGES * KEYS_STAGE)

// A piece is 128 keys of a head of keys, 64 a warpgroup. It walks over the heads that share it and tiles of 64
// queries, in order; dk and dv stay in registers. Shared memory: keys, values, a ring of queries, their
// gradients and what is known of them, barriers.
KERNEL_OF(BLOCK_THREADS, 1) attention_keys_wgmma(Gradient gradient, Input input, List list, Heads shape, Scale scale) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char space[];
    const u32 base = (shared_address(space) + 1023u) & ~1023u;
    const u32 values_at = base + CONSUMERS * TILE_BYTES, stages = base + 2 * CONSUMERS * TILE_BYTES;
    const u32 full = base + KEYS_BARRIERS_AT, empty = full + 8 * KEYS_STAGES, held = empty + 8 * KEYS_STAGES, held_free = held + 8,
              slot = held + 16, pieces = (u32)list.pieces;
    const int group = uniform(threadIdx.x / 128), heads = (int)shape.heads, kv_heads = (int)shape.kv_heads, shared_by = heads / kv_heads;
    if (threadIdx.x == 0) {
        for (int s = 0; s < KEYS_STAGES; s++) barrier_init(full + 8 * s, 1), barrier_init(empty + 8 * s, CONSUMERS * 4);
        barrier_init(held, 1), barrier_init(held_free, CONSUMERS * 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    // Queries may begin: all that they read is older than this kernel, and is there after the wait.
    wait_for_kernels_before();
    let_next_kernel_begin();
    if (group == CONSUMERS) {
        GIVE_REGISTERS;
        if (threadIdx.x == CONSUMERS * 128) {
            // A fresh barrier counts as one whose earlier phase is over.
            u32 piece = blockIdx.x;
            int stage = 0, phase = 1;
            for (int n = 0;; n++) {
                if (n > 0) barrier_wait(held_free, (n - 1) & 1);
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(slot), "r"(piece) : "memory");
                if (piece >= pieces) {
                    barrier_arrive(held);
                    break;
                }
                const Work work = list.works[piece / kv_heads];
                const int kv = piece % kv_heads;
                const TensorMap *qkv = input.qkv + work.sequence, *dout = input.dout + work.sequence, *values = list.values + work.sequence;
                see_map(qkv), see_map(dout), see_map(values);
                barrier_expect(held, 2 * CONSUMERS * TILE_BYTES);
                for (int w = 0; w < CONSUMERS; w++) {
                    load_head(base + w * TILE_BYTES, qkv, held, heads + kv, work.first + w * 64);
                    load_head(values_at + w * TILE_BYTES, values, held, heads + kv_heads + kv, work.first + w * 64);
                }
                piece = next_piece(list);
#pragma unroll 1
                for (int head = kv * shared_by; head < (kv + 1) * shared_by; head++)
#pragma unroll 1
                    for (u32 row = work.first; row < work.length; row += 64) {
                        barrier_wait(empty + 8 * stage, phase);
                        u32 to = stages + stage * KEYS_STAGE, barrier = full + 8 * stage;
                        barrier_expect(barrier, 2 * TILE_BYTES + 64 * sizeof(Stat));
                        load_head(to, qkv, barrier, head, row);
                        copy_bytes(to + 2 * TILE_BYTES, input.stats + head * input.padded + work.padded + row, 64 * sizeof(Stat), barrier);
                        load_head(to + TILE_BYTES, dout, barrier, head, row);
                        if (++stage == KEYS_STAGES) stage = 0, phase ^= 1;
                    }
            }
            end_pieces(list);
        }
    } else {
        TAKE_REGISTERS;
        const int lane = threadIdx.x % 32, pair = lane % 4 * 2, key = threadIdx.x % 128 / 32 * 16 + lane / 4;
        const u32 keys = base + group * TILE_BYTES, values = values_at + group * TILE_BYTES;
        auto arrive = [&](u32 barrier) {
            __syncwarp();
            if (lane == 0) barrier_arrive(barrier);
        };
        int next = 0, phase = 0;
        for (int n = 0;; n++) {
            barrier_wait(held, n & 1);
            u32 piece;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(piece) : "r"(slot) : "memory");
            piece = uniform(piece);
            if (piece >= pieces) break;
            const Work work = uniform(list.works[piece / kv_heads]);
            const int kv = piece % kv_heads, own = work.first + group * 64, first = work.first / 64, end = (work.length + 63) / 64;
            const int steps = (end - first) * shared_by;
            float dk[64], dv[64];
#pragma unroll
            for (int i = 0; i < 64; i++) dk[i] = dv[i] = 0.0f;
            int tile = first;
            // The barrier of a stage that products on their way still read.
            u32 before = 0;
            for (int step = 0; step < steps; step++) {
                const int query0 = tile * 64;
                if (++tile == end) tile = first;
                const u32 stage = stages + next * KEYS_STAGE, stat = stage + 2 * TILE_BYTES + pair * 8, done = empty + 8 * next;
                barrier_wait(full + 8 * next, phase);
                if (++next == KEYS_STAGES) next = 0, phase ^= 1;
                // No query of the tile sees a key of this warpgroup.
                if (query0 < own) {
                    arrive(done);
                    continue;
                }
                float s[32], dp[32], p[32];
                issue_tiles(s, keys, stage);
                // The last tile's dv and dk are done: their registers are free, and their stage.
                wgmma_wait<1>();
                if (before) arrive(before);
                before = done;
                issue_tiles(dp, values, stage + TILE_BYTES);
                wgmma_wait<1>();
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    float l0, l1, d0, d1;
                    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(l0), "=f"(d0), "=f"(l1), "=f"(d1) : "r"(stat + j * 64));
                    p[4 * j] = power_of_two(fmaf(s[4 * j], scale.power, -l0));
                    p[4 * j + 1] = power_of_two(fmaf(s[4 * j + 1], scale.power, -l1));
                    p[4 * j + 2] = power_of_two(fmaf(s[4 * j + 2], scale.power, -l0));
                    p[4 * j + 3] = power_of_two(fmaf(s[4 * j + 3], scale.power, -l1));
                }
                if (query0 == own) {
#pragma unroll
                    for (int i = 0; i < 32; i++)
                        if (key + i / 2 % 2 * 8 > i / 4 * 8 + pair + i % 2) p[i] = 0.0f;
                }
                u32 weights[4][4];
#pragma unroll
                for (int i = 0; i < 16; i++) weights[i / 4][i % 4] = rounded_pair(p[2 * i], p[2 * i + 1]);
                issue_sum(dv, weights, stage + TILE_BYTES);
                wgmma_wait<1>();
                u32 ds[4][4];
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    float l0, l1, d0, d1;
                    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(l0), "=f"(d0), "=f"(l1), "=f"(d1) : "r"(stat + j * 64));
                    ds[j / 2][j % 2 * 2] = rounded_pair(p[4 * j] * (dp[4 * j] - d0), p[4 * j + 1] * (dp[4 * j + 1] - d1));
                    ds[j / 2][j % 2 * 2 + 1] = rounded_pair(p[4 * j + 2] * (dp[4 * j + 2] - d0), p[4 * j + 3] * (dp[4 * j + 3] - d1));
                }
                issue_sum(dk, ds, stage);
            }
            wgmma_wait<0>();
            if (before) arrive(before);
            arrive(held_free);
            bf16 *to = gradient.data + (u64)(work.begin + own) * gradient.stride + (heads + kv) * 128;
            const float by_scale[2] = {scale.plain, scale.plain}, by_one[2] = {1.0f, 1.0f};
            const int rows = (int)work.length - own;
            put_rows(to, gradient.stride, dk, by_scale, key, rows);
            put_rows(to + kv_heads * 128, gradient.stride, dv, by_one, key, rows);
        }
    }
#endif
}

#define QUERIES_STAGES 4
#define QUERIES_STAGE (2 * TILE_BYTES)
#define QUERIES_BARRIERS_AT (2 * CONSUMERS * TILE_BYTES + QUERIES_STAGES * QUERIES_STAGE)

// A piece is 64 queries of two heads, one a warpgroup; they and their gradients stay in registers. It walks over
// tiles of 64 keys, in order. Shared memory: queries, their gradients, a ring of keys and values, barriers.
KERNEL_OF(BLOCK_THREADS, 1) attention_queries_wgmma(Gradient gradient, Input input, List list, Heads shape, Scale scale) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char space[];
    const u32 base = (shared_address(space) + 1023u) & ~1023u;
    const u32 gradients_at = base + CONSUMERS * TILE_BYTES, stages = base + 2 * CONSUMERS * TILE_BYTES;
    const u32 full = base + QUERIES_BARRIERS_AT, empty = full + 8 * QUERIES_STAGES, held = empty + 8 * QUERIES_STAGES,
              held_free = held + 8, slot = held + 16, pieces = (u32)list.pieces;
    const int group = uniform(threadIdx.x / 128), heads = (int)shape.heads, pairs = heads / 2, kv_heads = (int)shape.kv_heads;
    if (threadIdx.x == 0) {
        for (int s = 0; s < QUERIES_STAGES; s++) barrier_init(full + 8 * s, 1), barrier_init(empty + 8 * s, CONSUMERS * 4);
        barrier_init(held, 1), barrier_init(held_free, CONSUMERS * 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (group == CONSUMERS) {
        GIVE_REGISTERS;
        if (threadIdx.x == CONSUMERS * 128) {
            u32 piece = blockIdx.x;
            int stage = 0, phase = 1;
            for (int n = 0;; n++) {
                if (n > 0) barrier_wait(held_free, (n - 1) & 1);
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(slot), "r"(piece) : "memory");
                if (piece >= pieces) {
                    barrier_arrive(held);
                    break;
                }
                const Work work = list.works[piece / pairs];
                const int head = piece % pairs * 2, key_head = heads + head / (heads / kv_heads);
                const TensorMap *qkv = input.qkv + work.sequence, *dout = input.dout + work.sequence, *values = list.values + work.sequence;
                see_map(qkv), see_map(dout), see_map(values);
                piece = next_piece(list);
                barrier_expect(held, 2 * CONSUMERS * TILE_BYTES);
                for (int w = 0; w < CONSUMERS; w++) {
                    load_head(base + w * TILE_BYTES, qkv, held, head + w, work.first);
                    load_head(gradients_at + w * TILE_BYTES, dout, held, head + w, work.first);
                }
#pragma unroll 1
                for (u32 row = 0; row <= work.first; row += 64) {
                    barrier_wait(empty + 8 * stage, phase);
                    u32 to = stages + stage * QUERIES_STAGE, barrier = full + 8 * stage;
                    barrier_expect(barrier, 2 * TILE_BYTES);
                    load_head(to, qkv, barrier, key_head, row);
                    load_head(to + TILE_BYTES, values, barrier, key_head + kv_heads, row);
                    if (++stage == QUERIES_STAGES) stage = 0, phase ^= 1;
                }
            }
            end_pieces(list);
        }
    } else {
        TAKE_REGISTERS;
        const int lane = threadIdx.x % 32, pair = lane % 4 * 2, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
        auto arrive = [&](u32 barrier) {
            __syncwarp();
            if (lane == 0) barrier_arrive(barrier);
        };
        int next = 0, phase = 0;
        for (int n = 0;; n++) {
            barrier_wait(held, n & 1);
            u32 piece;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(piece) : "r"(slot) : "memory");
            piece = uniform(piece);
            if (piece >= pieces) break;
            const Work work = uniform(list.works[piece / pairs]);
            const int head = piece % pairs * 2 + group, last = work.first / 64;
            const Stat *stat = input.stats + head * input.padded + work.padded + work.first + row;
            const Stat known[2] = {stat[0], stat[8]};
            float dq[64];
#pragma unroll
            for (int i = 0; i < 64; i++) dq[i] = 0.0f;
            u32 query[8][4], dout[8][4], before = 0;
            hold_rows(query, base + group * TILE_BYTES);
            hold_rows(dout, gradients_at + group * TILE_BYTES);
            arrive(held_free);
            for (int step = 0; step <= last; step++) {
                const u32 stage = stages + next * QUERIES_STAGE, done = empty + 8 * next;
                float s[32], dp[32], p[32];
                barrier_wait(full + 8 * next, phase);
                if (++next == QUERIES_STAGES) next = 0, phase ^= 1;
                issue_held(s, query, stage);
                issue_held(dp, dout, stage + TILE_BYTES);
                // The scores are there, and all that is older.
                wgmma_wait<1>();
                if (before) arrive(before);
                before = done;
#pragma unroll
                for (int i = 0; i < 32; i++) p[i] = power_of_two(fmaf(s[i], scale.power, -known[i / 2 % 2].lse));
                if (step == last) {
#pragma unroll
                    for (int i = 0; i < 32; i++)
                        if (i / 4 * 8 + pair + i % 2 > row + i / 2 % 2 * 8) p[i] = 0.0f;
                }
                wgmma_wait<0>();
                u32 ds[4][4];
#pragma unroll
                for (int i = 0; i < 16; i++)
                    ds[i / 4][i % 4] = rounded_pair(p[2 * i] * (dp[2 * i] - known[i % 2].delta), p[2 * i + 1] * (dp[2 * i + 1] - known[i % 2].delta));
                issue_sum(dq, ds, stage);
            }
            wgmma_wait<0>();
            arrive(before);
            const float by_scale[2] = {scale.plain, scale.plain};
            bf16 *to = gradient.data + ((u64)work.begin + work.first) * gradient.stride + head * 128;
            put_rows(to, gradient.stride, dq, by_scale, row, (int)(work.length - work.first));
        }
    }
    // Kernels that come behind wait for this one, and need what became of the keys too.
    wait_for_kernels_before();
#endif
}
