// The gradients of `weight_gradients.cu` on Hopper, with its bits: a block is one warpgroup, and a wgmma takes 64
// columns of p by 64 of q and 16 rows. `wgmma.cuh` and `weight_gradients.cuh` are in front.
//
// Shared memory: three stages of 32 rows in panels of 64 columns, two of p and one of q, and what is there of
// the tile. In a panel chunks of eight columns change places by the row, as the tensor core reads them.

#define GRADIENT_PANEL (STAGE_ROWS * 128)
#define TOTAL(m, at) (((m) * 32 + (at)) * THREADS)

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Rows are summed, from row 16 · k of a panel on.
__device__ __forceinline__ u64 panel_rows(u32 panel, int k) {
    u32 at = panel + k * 16 * 128;
    return (u64)((at & 0x3FFFFu) >> 4) | (u64)(GRADIENT_PANEL >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

// What a thread copies of every stage: eight columns of rows that lie 8 apart of p, and 16 apart of q.
struct Copies {
    const bf16 *p, *q;
    u64 p_stride, q_stride;
    u32 p_row, q_row, p_place, q_place;
    bool p_there, q_there;
    __device__ __forceinline__ void begin(const Job &job, u64 p_first, u64 q_first) {
        u32 p_chunk = threadIdx.x % 16, q_chunk = threadIdx.x % 8;
        p_row = threadIdx.x / 16, q_row = threadIdx.x / 8;
        u64 p_column = p_first + p_chunk * 8, q_column = q_first + q_chunk * 8;
        p_there = p_column < job.p_columns, q_there = q_column < job.q_columns;
        p_stride = job.p_stride, q_stride = job.q_stride;
        p = job.p + (p_there ? p_row * p_stride + p_column : 0);
        q = job.q + (q_there ? q_row * q_stride + q_column : 0);
        p_place = p_chunk / 8 * GRADIENT_PANEL + p_row * 128 + ((p_chunk % 8 ^ (p_row & 7)) << 4);
        q_place = 2 * GRADIENT_PANEL + q_row * 128 + ((q_chunk ^ (q_row & 7)) << 4);
    }
    __device__ __forceinline__ void load(u32 base, const Walk &walk) const {
        const bf16 *from_p = p + walk.row * p_stride, *from_q = q + walk.row * q_stride;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool there = p_there && walk.row + p_row + i * 8 < walk.stop;
            copy_16_bytes(base + p_place + i * 8 * 128, there ? from_p + i * 8 * p_stride : p, there);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            bool there = q_there && walk.row + q_row + i * 16 < walk.stop;
            copy_16_bytes(base + q_place + i * 16 * 128, there ? from_q + i * 16 * q_stride : q, there);
        }
    }
};

#define EACH_NUMBER                     \
    _Pragma("unroll") for (int m = 0; m < 2; m++) \
    _Pragma("unroll") for (int at = 0; at < 32; at++)

#endif

KERNEL_OF(THREADS, 3) weight_gradients_wgmma(const Job *jobs, u32 count, const u64 *offsets, u64 sequences) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char memory[];
    const u32 shift = (0u - shared_address(memory)) & 1023u, stages = shared_address(memory) + shift;
    // A thread's numbers of the tile, which only it uses.
    float *total = (float *)(memory + shift + STAGES * STAGE_BYTES) + threadIdx.x;
    __shared__ Job job;
    if (threadIdx.x == 0) {
        u32 at = 0;
        while (at + 1 < count && jobs[at + 1].first_block <= blockIdx.x) at++;
        job = jobs[at];
    }
    __syncthreads();
    const u64 block = blockIdx.x - job.first_block, q_tiles = (job.q_columns + Q_COLUMNS - 1) / Q_COLUMNS;
    const u64 p_first = block / q_tiles * P_COLUMNS, q_first = block % q_tiles * Q_COLUMNS;
    const float scale = __uint_as_float((u32)job.scale_bits);
    const u64 row = p_first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = q_first + threadIdx.x % 4 * 2;
    auto i_of = [&](int m, int at) { return row + m * 64 + at % 4 / 2 * 8; };
    auto j_of = [&](int at) { return column + at / 4 * 8 + at % 2; };
    float sum[2][32];
    EACH_NUMBER {
        u64 i = i_of(m, at), j = j_of(at);
        bool there = i < job.p_columns && j < job.q_columns;
        total[TOTAL(m, at)] = there ? job.to[i * job.i_stride + j * job.j_stride] : 0.0f;
        sum[m][at] = 0.0f;
    }
    Copies copies;
    copies.begin(job, p_first, q_first);
    Walk ahead, now;
    ahead.begin(offsets, sequences);
    now = ahead;
    for (int stage = 0; stage < STAGES - 1; stage++) {
        if (!ahead.over()) {
            copies.load(stages + stage * STAGE_BYTES, ahead);
            ahead.next();
        }
        asm volatile("cp.async.commit_group;");
    }
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
#pragma unroll
            for (int m = 0; m < 2; m++)
                wgmma_64_across(sum[m], panel_rows(base + m * GRADIENT_PANEL, k), panel_rows(base + 2 * GRADIENT_PANEL, k));
        wgmma_end();
        wgmma_wait<0>();
        if (now.last()) EACH_NUMBER {
                total[TOTAL(m, at)] = sum[m][at] * scale + total[TOTAL(m, at)];
                sum[m][at] = 0.0f;
            }
        now.next();
    }
    EACH_NUMBER {
        u64 i = i_of(m, at), j = j_of(at);
        if (i < job.p_columns && j < job.q_columns) job.to[i * job.i_stride + j * job.j_stride] = total[TOTAL(m, at)];
    }
#endif
}
