// The gradients of `weight_gradients.cu` on Hopper, with its bits. `wgmma.cuh` and `weight_gradients.cuh` are in front.
//
// Grid: a block for each tile of 320 columns of p by 64 of q, five warpgroups, each 64 by 64 of it. These kernels take
// the time of their loads: a wide tile reads q seldom, and the gradients of a layer of a small model are no more tiles
// than an H200 has processors. Sums and what is there of the tile are in registers. Shared memory: four stages of 64
// rows in panels of 64 columns, five of p and one of q, 192 KiB. In a panel chunks of eight columns change places by
// the row, as the tensor core reads them.

#define PANELS 5
#define P_COLUMNS (PANELS * 64)
#define STAGE_ROWS 64
#define STAGES 4
#define THREADS (PANELS * 128)
#define GRADIENT_PANEL (STAGE_ROWS * 128)
#define STAGE_BYTES ((PANELS + 1) * GRADIENT_PANEL)

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Rows are summed, from row 16 · k of a panel on.
__device__ __forceinline__ u64 panel_rows(u32 panel, int k) {
    u32 at = panel + k * 16 * 128;
    return (u64)((at & 0x3FFFFu) >> 4) | (u64)(GRADIENT_PANEL >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

// What a thread copies of every stage: eight columns of four rows of p that lie 16 apart, and most threads of one
// row of q.
struct Copies {
    static constexpr u32 CHUNKS = P_COLUMNS / 8, APART = THREADS / CHUNKS;
    const bf16 *p, *q;
    u64 p_stride, q_stride;
    u32 p_row, q_row, p_place, q_place;
    bool p_there, q_there;
    __device__ __forceinline__ void begin(const Job &job, u32 p_first, u32 q_first) {
        const u32 p_chunk = threadIdx.x % CHUNKS, q_chunk = threadIdx.x % 8;
        p_row = threadIdx.x / CHUNKS, q_row = threadIdx.x / 8;
        const u32 p_column = p_first + p_chunk * 8, q_column = q_first + q_chunk * 8;
        p_there = p_column < job.p_columns, q_there = q_column < job.q_columns;
        p_stride = job.p_stride, q_stride = job.q_stride;
        p = job.p + (p_there ? p_column : 0), q = job.q + (q_there ? q_column : 0);
        p_place = p_chunk / 8 * GRADIENT_PANEL + p_row * 128 + ((p_chunk % 8 ^ (p_row & 7)) << 4);
        q_place = PANELS * GRADIENT_PANEL + q_row * 128 + ((q_chunk ^ (q_row & 7)) << 4);
    }
    __device__ __forceinline__ void load(u32 base, const Walk<STAGE_ROWS> &walk) const {
#pragma unroll
        for (u32 i = 0; i < STAGE_ROWS / APART; i++) {
            const u32 row = walk.row + p_row + i * APART;
            const bool there = p_there && row < walk.stop;
            copy_16_bytes(base + p_place + i * APART * 128, there ? p + row * p_stride : p, there);
        }
        if (q_row < STAGE_ROWS) {
            const u32 row = walk.row + q_row;
            const bool there = q_there && row < walk.stop;
            copy_16_bytes(base + q_place, there ? q + row * q_stride : q, there);
        }
    }
};

#define EACH_NUMBER _Pragma("unroll") for (int at = 0; at < 32; at++)

#endif

KERNEL_OF(THREADS, 1) weight_gradients_wgmma(const Job *jobs, u32 count, const u64 *offsets, u64 sequences) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 stages = shared_address(memory) + ((0u - shared_address(memory)) & 1023u);
    __shared__ Job job;
    if (threadIdx.x == 0) {
        u32 at = 0;
        while (at + 1 < count && jobs[at + 1].first_block <= blockIdx.x) at++;
        job = jobs[at];
    }
    __syncthreads();
    const u32 block = blockIdx.x - (u32)job.first_block, q_tiles = ((u32)job.q_columns + Q_COLUMNS - 1) / Q_COLUMNS;
    const u32 p_first = block / q_tiles * P_COLUMNS, q_first = block % q_tiles * Q_COLUMNS;
    const u32 panel = uniform(threadIdx.x / 128);
    Copies copies;
    copies.begin(job, p_first, q_first);
    Walk<STAGE_ROWS> ahead, now;
    ahead.begin(offsets, sequences);
    now = ahead;
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (!ahead.over()) {
            copies.load(stages + stage * STAGE_BYTES, ahead);
            ahead.next();
        }
        asm volatile("cp.async.commit_group;");
    }
    const u32 row = p_first + panel * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4, column = q_first + threadIdx.x % 4 * 2;
    auto i_of = [&](int at) { return row + at % 4 / 2 * 8; };
    auto j_of = [&](int at) { return column + at / 4 * 8 + at % 2; };
    auto is_there = [&](int at) { return i_of(at) < job.p_columns && j_of(at) < job.q_columns; };
    auto place = [&](int at) { return job.to + i_of(at) * job.i_stride + j_of(at) * job.j_stride; };
    float sum[32], total[32];
    EACH_NUMBER total[at] = is_there(at) ? *place(at) : 0.0f, sum[at] = 0.0f;
    const float scale = __uint_as_float((u32)job.scale_bits);
    for (int stage = 0; !now.over(); stage = (stage + 1) % STAGES) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        before_copies();
        __syncthreads();
        if (!ahead.over()) {
            copies.load(stages + (stage + STAGES - 1) % STAGES * STAGE_BYTES, ahead);
            ahead.next();
        }
        asm volatile("cp.async.commit_group;");
        const u32 base = uniform(stages + stage * STAGE_BYTES);
        wgmma_begin();
#pragma unroll
        for (int k = 0; k < STAGE_ROWS / 16; k++)
            wgmma_64_across(sum, panel_rows(base + panel * GRADIENT_PANEL, k), panel_rows(base + PANELS * GRADIENT_PANEL, k));
        wgmma_end();
        wgmma_wait<0>();
        if (now.last()) EACH_NUMBER total[at] = sum[at] * scale + total[at], sum[at] = 0.0f;
        now.next();
    }
    EACH_NUMBER if (is_there(at)) *place(at) = total[at];
#endif
}
