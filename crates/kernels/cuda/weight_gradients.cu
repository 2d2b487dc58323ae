// Gradients of narrow weights, several in one launch: to[i][j] += scale · Σ_t p[t][i]·q[t][j], a sum
// over the rows of each sequence, sequence by sequence.
//
// Grid: a block of 128 threads for each tile of 128 columns of p by 64 of q; four warps, each 64 by
// 32 of it. Shared memory: three stages of 32 rows, 36 KiB, and what is there of the tile, 32 KiB: in
// registers it would leave room for two blocks instead of three. Order of sums: within a sequence in f32
// from its first row, 16 at a time by the tensor core, then multiplied by the scale, then added to
// what is there; sequences in their order. These are the bits of one product for each sequence.

#define P_COLUMNS 128
#define STAGE_ROWS 32
#define STAGES 3
#define STAGE_BYTES (STAGE_ROWS * (P_COLUMNS + Q_COLUMNS) * 2)
#define THREADS 128

// Where a thread's number lies among those of all threads.
#define TOTAL(m, n, k) (((m) * 16 + (n) * 4 + (k)) * THREADS)

// Where a chunk of eight columns of a row lies: chunks of neighbouring rows are in other banks.
__device__ __forceinline__ u32 p_place(u32 base, int row, int chunk) { return base + row * P_COLUMNS * 2 + ((chunk ^ (row & 7)) << 4); }
__device__ __forceinline__ u32 q_place(u32 base, int row, int chunk) {
    return base + STAGE_ROWS * P_COLUMNS * 2 + row * Q_COLUMNS * 2 + ((chunk ^ (row & 7)) << 4);
}

// What a block computes, and a thread's places in it.
struct Tile {
    u64 p_first, q_first;
    int p_warp, q_warp, lane;
    __device__ __forceinline__ u64 i(int m, int k) const { return p_first + p_warp + m * 16 + lane / 4 + k / 2 * 8; }
    __device__ __forceinline__ u64 j(int n, int k) const { return q_first + q_warp + n * 8 + lane % 4 * 2 + k % 2; }
};

// What a thread copies of every stage: of p eight columns of four rows that lie 8 apart, of q eight
// columns of two that lie 16 apart.
struct Copies {
    const bf16 *p, *q;
    u64 p_stride, q_stride;
    u32 p_row, q_row, p_place, q_place;
    bool p_there, q_there;
    __device__ __forceinline__ void begin(const Job &job, const Tile &tile) {
        u32 p_chunk = threadIdx.x % 16, q_chunk = threadIdx.x % 8;
        p_row = threadIdx.x / 16, q_row = threadIdx.x / 8;
        u64 p_column = tile.p_first + p_chunk * 8, q_column = tile.q_first + q_chunk * 8;
        p_there = p_column < job.p_columns, q_there = q_column < job.q_columns;
        p_stride = job.p_stride, q_stride = job.q_stride;
        p = job.p + (p_there ? p_row * p_stride + p_column : 0);
        q = job.q + (q_there ? q_row * q_stride + q_column : 0);
        p_place = ::p_place(0, p_row, p_chunk), q_place = ::q_place(0, q_row, q_chunk);
    }
    __device__ __forceinline__ void load(u32 base, const Walk<STAGE_ROWS> &walk) const {
        const bf16 *from_p = p + walk.row * p_stride, *from_q = q + walk.row * q_stride;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            bool there = p_there && walk.row + p_row + i * 8 < walk.stop;
            copy_16_bytes(base + p_place + i * 8 * P_COLUMNS * 2, there ? from_p + i * 8 * p_stride : p, there);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            bool there = q_there && walk.row + q_row + i * 16 < walk.stop;
            copy_16_bytes(base + q_place + i * 16 * Q_COLUMNS * 2, there ? from_q + i * 16 * q_stride : q, there);
        }
    }
};

#define EACH_NUMBER                     \
    _Pragma("unroll") for (int m = 0; m < 4; m++) \
    _Pragma("unroll") for (int n = 0; n < 4; n++) \
    _Pragma("unroll") for (int k = 0; k < 4; k++)

KERNEL_OF(THREADS, 3) weight_gradients(const Job *jobs, u32 count, const u64 *offsets, u64 sequences) {
    extern __shared__ __align__(128) unsigned char memory[];
    const u32 stages = shared_address(memory);
    // A thread's numbers of the tile, which only it uses.
    float *total = (float *)(memory + STAGES * STAGE_BYTES) + threadIdx.x;
    // Shared, so that what it says takes no registers while sums do.
    __shared__ Job job;
    if (threadIdx.x == 0) {
        u32 at = 0;
        while (at + 1 < count && jobs[at + 1].first_block <= blockIdx.x) at++;
        job = jobs[at];
    }
    __syncthreads();
    u64 block = blockIdx.x - job.first_block, q_tiles = (job.q_columns + Q_COLUMNS - 1) / Q_COLUMNS;
    float scale = __uint_as_float((u32)job.scale_bits);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    Tile tile = {block / q_tiles * P_COLUMNS, block % q_tiles * Q_COLUMNS, warp / 2 * 64, warp % 2 * 32, lane};
    float sum[4][4][4];
    EACH_NUMBER {
        u64 i = tile.i(m, k), j = tile.j(n, k);
        bool there = i < job.p_columns && j < job.q_columns;
        total[TOTAL(m, n, k)] = there ? job.to[i * job.i_stride + j * job.j_stride] : 0.0f;
        sum[m][n][k] = 0.0f;
    }
    Copies copies;
    copies.begin(job, tile);
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
    for (int stage = 0; !now.over(); stage = (stage + 1) % STAGES) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads();
        if (!ahead.over()) {
            copies.load(stages + (stage + STAGES - 1) % STAGES * STAGE_BYTES, ahead);
            ahead.next();
        }
        asm volatile("cp.async.commit_group;");
        u32 base = stages + stage * STAGE_BYTES;
#pragma unroll
        for (int row = 0; row < STAGE_ROWS; row += 16) {
            u32 a[4][4], b[2][4];
#pragma unroll
            for (int m = 0; m < 4; m++) load_tiles_turned(a[m], p_place(base, row + lane / 16 * 8 + lane % 8, (tile.p_warp + m * 16) / 8 + lane / 8 % 2));
#pragma unroll
            for (int n = 0; n < 2; n++) load_tiles_turned(b[n], q_place(base, row + lane / 8 % 2 * 8 + lane % 8, (tile.q_warp + n * 16) / 8 + lane / 16));
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < 4; n++) multiply_add(sum[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
        if (now.last()) EACH_NUMBER {
                total[TOTAL(m, n, k)] = sum[m][n][k] * scale + total[TOTAL(m, n, k)];
                sum[m][n][k] = 0.0f;
            }
        now.next();
    }
    EACH_NUMBER {
        u64 i = tile.i(m, k), j = tile.j(n, k);
        if (i < job.p_columns && j < job.q_columns) job.to[i * job.i_stride + j * job.j_stride] = total[TOTAL(m, n, k)];
    }
}
