// Causal attention of packed sequences on Hopper: heads of 128 numbers, an even number of which share
// their keys. `wgmma.cuh` is in front.
//
// Bits are those of `attention.cu`: keys in blocks of 64 from the beginning of the sequence, in order, a
// score's chain over the head, the same roundings, weights rounded to bf16, and their sum by the tensor
// core against ones. The ones are columns 128 to 135 of every tile of values, so that one product gives
// the output and the sum.
//
// As many blocks as the chip has processors take pieces of work from a counter, the heaviest first; who
// computes a piece changes no bit. A piece is 64 queries of two heads, one a warpgroup, whose queries stay
// in registers. Keys and values come in a ring of four stages. In a step a warpgroup issues the scores of
// block j and the output of block j - 1, and computes weights j while the tensor core does the latter.
// Shared memory: queries, the ring with its ones, barriers.

#define STAGES 4
#define STAGE (2 * TILE_BYTES + PANEL_BYTES)
#define BARRIERS_AT (CONSUMERS * TILE_BYTES + STAGES * STAGE)
#define ONES 0x3f803f80u
#define UNSEEN -1e30f

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Scores of a block become weights, in place; `top` is the largest so far of the thread's two rows, `factor`
// what the output so far has to be multiplied by.
__device__ __forceinline__ void weigh(float (&s)[32], float (&top)[2], float (&factor)[2], bool diagonal, int row, float scale) {
    int pair = threadIdx.x % 4 * 2;
    if (diagonal) {
#pragma unroll
        for (int i = 0; i < 32; i++)
            if (i / 4 * 8 + pair + i % 2 > row + i / 2 % 2 * 8) s[i] = UNSEEN;
    }
    float most[2] = {fmaxf(s[0], s[1]), fmaxf(s[2], s[3])};
#pragma unroll
    for (int i = 4; i < 32; i++) most[i / 2 % 2] = fmaxf(most[i / 2 % 2], s[i]);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        most[half] = fmaxf(most[half], __shfl_xor_sync(~0u, most[half], 1));
        most[half] = fmaxf(most[half], __shfl_xor_sync(~0u, most[half], 2));
        // The largest of the scaled ones: rounding keeps the order.
        most[half] = fmaxf(most[half] * scale, top[half]);
        factor[half] = power_of_two(top[half] - most[half]);
        top[half] = most[half];
    }
#pragma unroll
    for (int i = 0; i < 32; i++) s[i] = power_of_two(s[i] * scale - most[i / 2 % 2]);
}

// Here, and not between the products that follow: they would wait for each other.
__device__ __forceinline__ void pack(u32 (&weights)[4][4], const float (&s)[32]) {
#pragma unroll
    for (int i = 0; i < 16; i++) weights[i / 4][i % 4] = rounded_pair(s[2 * i], s[2 * i + 1]);
#pragma unroll
    for (int i = 0; i < 16; i++) asm volatile("" : "+r"(weights[i / 4][i % 4])::"memory");
}

__device__ __forceinline__ void issue_scores(float (&s)[32], const u32 (&query)[8][4], u32 keys) {
    wgmma_begin();
    wgmma_held_64_first(s, query[0], along_rows(keys, 0));
#pragma unroll
    for (int k = 1; k < 8; k++) wgmma_held_64(s, query[k], along_rows(keys, k));
    wgmma_end();
}

__device__ __forceinline__ void issue_output(float (&out)[68], const u32 (&weights)[4][4], u32 values) {
    wgmma_begin();
#pragma unroll
    for (int k = 0; k < 4; k++) wgmma_held_136(out, weights[k], across_rows(values, k));
    wgmma_end();
}

#endif

struct Output {
    bf16 *out;
    float *lse;
    u64 stride, unused;
};

// Maps of queries and keys, and of rows that have the values, for each sequence. `tickets` are two zeros before
// the launch, and zeros again after it.
KERNEL_OF(BLOCK_THREADS, 1) attention_forward_wgmma(Output output, const TensorMap *maps, const TensorMap *value_maps, const Work *works, u32 *tickets, u32 pieces,
                                                    Heads shape, float scale) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char space[];
    const u32 base = (shared_address(space) + 1023u) & ~1023u, stages = base + CONSUMERS * TILE_BYTES;
    const u32 full = base + BARRIERS_AT, empty = full + 8 * STAGES, held = empty + 8 * STAGES, held_free = held + 8, slot = held + 16;
    const int group = uniform(threadIdx.x / 128), heads = (int)shape.heads, pairs = heads / 2;
    const int shared_by = heads / (int)shape.kv_heads;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) barrier_init(full + 8 * s, 1), barrier_init(empty + 8 * s, CONSUMERS * 4);
        barrier_init(held, 1), barrier_init(held_free, CONSUMERS * 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int s = 0; s < STAGES; s++)
        for (int i = threadIdx.x * 16; i < PANEL_BYTES; i += BLOCK_THREADS * 16)
            asm volatile("st.shared.v4.b32 [%0], {%1,%1,%1,%1};" ::"r"(stages + s * STAGE + 2 * TILE_BYTES + i), "r"(ONES) : "memory");
    // The tensor core reads the ones.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (group == CONSUMERS) {
        GIVE_REGISTERS;
        if (threadIdx.x == CONSUMERS * 128) {
            // A fresh barrier counts as one whose earlier phase is over.
            u32 piece = blockIdx.x;
            int stage = 0, phase = 1, seen = -1;
            for (int n = 0;; n++) {
                if (n > 0) barrier_wait(held_free, (n - 1) & 1);
                asm volatile("st.shared.b32 [%0], %1;" ::"r"(slot), "r"(piece) : "memory");
                if (piece >= pieces) {
                    barrier_arrive(held);
                    break;
                }
                const Work work = works[piece / pairs];
                const int head = piece % pairs * 2, key_head = heads + head / shared_by;
                const TensorMap *map = maps + work.sequence, *value_map = value_maps + work.sequence;
                if (seen != (int)work.sequence) see_map(map), see_map(value_map), seen = work.sequence;
                piece = gridDim.x + atomicAdd(tickets, 1u);
                barrier_expect(held, CONSUMERS * TILE_BYTES);
                for (int w = 0; w < CONSUMERS; w++) load_head(base + w * TILE_BYTES, map, held, head + w, work.first);
#pragma unroll 1
                for (int row = 0; row <= work.first; row += 64) {
                    barrier_wait(empty + 8 * stage, phase);
                    u32 to = stages + stage * STAGE, barrier = full + 8 * stage;
                    barrier_expect(barrier, 2 * TILE_BYTES);
                    load_head(to, map, barrier, key_head, row);
                    load_head(to + TILE_BYTES, value_map, barrier, key_head + (int)shape.kv_heads, row);
                    if (++stage == STAGES) stage = 0, phase ^= 1;
                }
            }
            // The last block: nobody asks any more.
            if (atomicAdd(tickets + 1, 1u) == gridDim.x - 1) tickets[0] = tickets[1] = 0;
        }
    } else {
        TAKE_REGISTERS;
        const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
        auto arrive = [&](u32 barrier) {
            __syncwarp();
            if (lane == 0) barrier_arrive(barrier);
        };
        int next = 0, phase = 0;
        auto take = [&] {
            int stage = next;
            barrier_wait(full + 8 * stage, phase);
            if (++next == STAGES) next = 0, phase ^= 1;
            return stage;
        };
        for (int n = 0;; n++) {
            barrier_wait(held, n & 1);
            u32 piece;
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(piece) : "r"(slot) : "memory");
            piece = uniform(piece);
            if (piece >= pieces) break;
            const Work work = uniform(works[piece / pairs]);
            const int head = piece % pairs * 2 + group, last = work.first / 64;
            u32 query[8][4], weights[4][4];
            hold_rows(query, base + group * TILE_BYTES);
            arrive(held_free);
            float out[68], s[32], top[2] = {UNSEEN, UNSEEN}, factor[2];
#pragma unroll
            for (int i = 0; i < 68; i++) out[i] = 0.0f;
            int stage = take();
            issue_scores(s, query, stages + stage * STAGE);
            wgmma_wait<0>();
            weigh(s, top, factor, last == 0, row, scale);
            pack(weights, s);
            for (int j = 1; j <= last; j++) {
                const int after = take();
                issue_scores(s, query, stages + after * STAGE);
                issue_output(out, weights, stages + stage * STAGE + TILE_BYTES);
                wgmma_wait<1>();
                weigh(s, top, factor, j == last, row, scale);
                wgmma_wait<0>();
                arrive(empty + 8 * stage);
                stage = after;
#pragma unroll
                for (int i = 0; i < 64; i++) out[i] = out[i] * factor[i / 2 % 2];
                // The other columns of ones are never read.
                out[64] = out[64] * factor[0], out[66] = out[66] * factor[1];
                pack(weights, s);
            }
            issue_output(out, weights, stages + stage * STAGE + TILE_BYTES);
            wgmma_wait<0>();
            arrive(empty + 8 * stage);
            const int rows = work.length - work.first;
            const u64 first = (u64)work.begin + work.first;
            const float inverse[2] = {__frcp_rn(out[64]), __frcp_rn(out[66])};
#pragma unroll
            for (int half = 0; half < 2; half++)
                if (lane % 4 == 0 && row + half * 8 < rows)
                    output.lse[(first + row + half * 8) * heads + head] = top[half] * 0.693147182f + logf(out[64 + 2 * half]);
            put_rows(output.out + first * output.stride + head * 128, output.stride, out, inverse, row, rows);
        }
    }
#endif
}
