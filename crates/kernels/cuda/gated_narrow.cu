// SwiGLU and the narrow product of an adapter in one pass over the rows, there and back.
//
// There: y = silu(gate) · up, and u = s · y · Aᵀ right of y. Back: the gate and what goes through it become
// their gradients, dy becomes y, and du = s · [dgate|dup] · B is written right of both. A narrow product by
// itself reads again what was just written, and takes the time of that.
//
// A block has 32 rows and walks over their columns, 64 at a time, so that each narrow sum is one chain, 16 at a
// time from the first column on: the bits of a product by itself. Tiles lie in a ring in shared memory. Between
// two barriers the threads compute the gate of one tile and the products of the tile before it. Two blocks share
// a processor, so that one computes while the other waits.

#define ROWS 32
#define THREADS 256
#define COLUMNS 64
#define NARROW 64
#define TILE (ROWS * COLUMNS * 2)
#define WEIGHTS (NARROW * COLUMNS * 2)

// A tile has rows of 128 bytes, whose chunks of 16 change places by the row.
__device__ __forceinline__ u32 chunk_at(u32 row, u32 chunk) { return row * 128 + ((chunk ^ (row & 7)) << 4); }

// The first operand: 16 rows of a tile, from column 16 · k on.
__device__ __forceinline__ void load_rows(u32 *a, u32 tile, u32 row, int k) {
    const u32 lane = threadIdx.x % 32;
    load_tiles(a, tile + (chunk_at(row + lane % 16, lane / 16) ^ (k << 5)));
}

// The second operand, 16 of its columns: they are rows of a tile, whose columns are summed.
__device__ __forceinline__ void load_columns(u32 *b, u32 tile, u32 row, int k) {
    const u32 lane = threadIdx.x % 32;
    load_tiles(b, tile + (chunk_at(row + lane % 8 + lane / 16 * 8, lane / 8 % 2) ^ (k << 5)));
}

// The second operand, 16 of its columns from `chunk` on: rows of a tile are summed, from row 16 · k on.
__device__ __forceinline__ void load_summed(u32 *b, u32 tile, u32 chunk, int k) {
    const u32 lane = threadIdx.x % 32;
    load_tiles_turned(b, tile + chunk_at(k * 16 + lane % 16, chunk + lane / 16));
}

__device__ __forceinline__ uint4 rounded_group(const float *x) {
    return make_uint4(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]), rounded_pair(x[4], x[5]), rounded_pair(x[6], x[7]));
}

// Walks over tiles: `load` asks for one, `gate` turns it into an operand, `multiply` adds its products. A ring of
// STAGES tiles, all but two of them on their way.
template <int STAGES, class Load, class Gate, class Multiply>
__device__ __forceinline__ void walk(u32 steps, Load load, Gate gate, Multiply multiply) {
    for (u32 step = 0; step < STAGES - 2; step++) {
        if (step < steps) load(step, step);
        asm volatile("cp.async.commit_group;");
    }
    u32 now = 0, before = STAGES - 1, next = STAGES - 2;
    for (u32 step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 3));
        __syncthreads();
        if (step + STAGES - 2 < steps) load(step + STAGES - 2, next);
        asm volatile("cp.async.commit_group;");
        gate(step, now);
        if (step > 0) multiply(before);
        before = now;
        now = now + 1 == STAGES ? 0 : now + 1;
        next = next + 1 == STAGES ? 0 : next + 1;
    }
    __syncthreads();
    multiply(before);
}

// A warp's numbers of a narrow product, scaled: columns below `count` into rows that are there.
template <int GROUPS>
__device__ __forceinline__ void put_narrow(bf16 *to, u64 stride, const float (*c)[4], u32 row, u32 rows, u32 column, u32 count, float scale) {
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
        for (int j = 0; j < GROUPS; j++) {
            const u32 own = row + lane / 4 + half * 8, at = column + j * 8 + lane % 4 * 2;
            if (own < rows && at < count) *(u32 *)(to + own * stride + at) = rounded_pair(scale * c[j][2 * half], scale * c[j][2 * half + 1]);
        }
}

#define FORWARD_STAGES 5
#define FORWARD_STAGE (2 * TILE + WEIGHTS)

// Strides are those of y, both, A and kept; sizes are rows, columns of y and of u, which is at most 64. u goes
// right of y, and into `kept` if there is such.
KERNEL_OF(THREADS, 2) gated_narrow_forward(bf16 *y, const bf16 *both, const bf16 *a, bf16 *kept, Words strides, Words sizes, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const u32 base = shared_address(memory), rows = (u32)sizes.at[0], width = (u32)sizes.at[1], narrow = (u32)sizes.at[2];
    const u32 row = threadIdx.x / 8, chunk = threadIdx.x % 8, first = blockIdx.x * ROWS, place = chunk_at(row, chunk);
    const bool there = first + row < rows;
    const bf16 *gates = both + (u64)(there ? first + row : 0) * strides.at[1] + chunk * 8;
    const bf16 *weights = a + row * strides.at[2] + chunk * 8;
    bf16 *to = y + (u64)(first + row) * strides.at[0] + chunk * 8;
    const u32 warp = threadIdx.x / 32, m = warp % 2 * 16, n = warp / 2 * 16;
    float c[2][4] = {};
    wait_for_kernels_before();
    walk<FORWARD_STAGES>(
        width / COLUMNS,
        [&](u32 step, u32 stage) {
            const u32 at = base + stage * FORWARD_STAGE + place, column = step * COLUMNS;
            copy_16_bytes(at, gates + column, there);
            copy_16_bytes(at + TILE, gates + width + column, there);
#pragma unroll
            for (int i = 0; i < NARROW; i += ROWS)
                copy_16_bytes(at + 2 * TILE + i * 128, row + i < narrow ? weights + i * strides.at[2] + column : a, row + i < narrow);
        },
        [&](u32 step, u32 stage) {
            unsigned char *at = memory + stage * FORWARD_STAGE + place;
            float g[GROUP], u[GROUP];
            unpack_group(g, *(const uint4 *)at), unpack_group(u, *(const uint4 *)(at + TILE));
#pragma unroll
            for (int i = 0; i < GROUP; i++) g[i] = swiglu(g[i], u[i]);
            const uint4 group = rounded_group(g);
            *(uint4 *)at = group;
            if (there) *(uint4 *)(to + step * COLUMNS) = group;
        },
        [&](u32 stage) {
            const u32 tile = base + stage * FORWARD_STAGE;
#pragma unroll
            for (int k = 0; k < COLUMNS / 16; k++) {
                u32 x[4], w[4];
                load_rows(x, tile, m, k);
                load_columns(w, tile + 2 * TILE, n, k);
                multiply_add(c[0], x, w[0], w[1]);
                multiply_add(c[1], x, w[2], w[3]);
            }
        });
    put_narrow<2>(y + width, strides.at[0], c, first + m, rows, n, narrow, scale);
    if (kept) put_narrow<2>(kept, strides.at[3], c, first + m, rows, n, narrow, scale);
}

#define BACKWARD_STAGES 4
#define BACKWARD_STAGE (3 * TILE + 2 * WEIGHTS)

// Strides are those of dy, both and B; sizes are rows, columns of dy, and of du where the gate's columns begin and
// end and where those of what goes through it do, 16 bits each; each has at most 64. du goes right of both.
KERNEL_OF(THREADS, 2) gated_narrow_backward(bf16 *dy, bf16 *both, const bf16 *b, Words strides, Words sizes, float scale) {
    extern __shared__ __align__(128) unsigned char memory[];
    const u32 base = shared_address(memory), rows = (u32)sizes.at[0], width = (u32)sizes.at[1];
    const u32 row = threadIdx.x / 8, chunk = threadIdx.x % 8, first = blockIdx.x * ROWS, place = chunk_at(row, chunk);
    const bool there = first + row < rows;
    const u64 ranges = sizes.at[2];
    auto begin_of = [&](u32 side) { return (u32)(ranges >> (side * 32)) & 0xffffu; };
    auto count_of = [&](u32 side) { return ((u32)(ranges >> (side * 32 + 16)) & 0xffffu) - begin_of(side); };
    bf16 *slopes = dy + (u64)(there ? first + row : 0) * strides.at[0] + chunk * 8;
    bf16 *gates = both + (u64)(there ? first + row : 0) * strides.at[1] + chunk * 8;
    const bool is_narrow[2] = {chunk * 8 < count_of(0), chunk * 8 < count_of(1)};
    const bf16 *weights[2] = {b + row * strides.at[2] + begin_of(0) + (is_narrow[0] ? chunk * 8 : 0),
                              b + (u64)(width + row) * strides.at[2] + begin_of(1) + (is_narrow[1] ? chunk * 8 : 0)};
    const u32 warp = threadIdx.x / 32, m = warp % 2 * 16, side = warp / 2 % 2, n = warp / 4 * 32;
    float c[4][4] = {};
    wait_for_kernels_before();
    walk<BACKWARD_STAGES>(
        width / COLUMNS,
        [&](u32 step, u32 stage) {
            const u32 at = base + stage * BACKWARD_STAGE + place, column = step * COLUMNS;
            copy_16_bytes(at, gates + column, there);
            copy_16_bytes(at + TILE, gates + width + column, there);
            copy_16_bytes(at + 2 * TILE, slopes + column, there);
#pragma unroll
            for (int i = 0; i < COLUMNS; i += ROWS) {
                copy_16_bytes(at + 3 * TILE + i * 128, weights[0] + (column + i) * strides.at[2], is_narrow[0]);
                copy_16_bytes(at + 3 * TILE + WEIGHTS + i * 128, weights[1] + (column + i) * strides.at[2], is_narrow[1]);
            }
        },
        [&](u32 step, u32 stage) {
            unsigned char *at = memory + stage * BACKWARD_STAGE + place;
            float d[GROUP], g[GROUP], u[GROUP];
            unpack_group(g, *(const uint4 *)at), unpack_group(u, *(const uint4 *)(at + TILE)), unpack_group(d, *(const uint4 *)(at + 2 * TILE));
#pragma unroll
            for (int i = 0; i < GROUP; i++) swiglu_back(d[i], g[i], u[i]);
            const uint4 dgate = rounded_group(g), dup = rounded_group(u);
            *(uint4 *)at = dgate, *(uint4 *)(at + TILE) = dup;
            if (!there) return;
            const u32 column = step * COLUMNS;
            *(uint4 *)(gates + column) = dgate, *(uint4 *)(gates + width + column) = dup;
            *(uint4 *)(slopes + column) = rounded_group(d);
        },
        [&](u32 stage) {
            const u32 tile = base + stage * BACKWARD_STAGE;
#pragma unroll
            for (int k = 0; k < COLUMNS / 16; k++) {
                u32 x[4], w[4];
                load_rows(x, tile + side * TILE, m, k);
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    load_summed(w, tile + 3 * TILE + side * WEIGHTS, n / 8 + 2 * j, k);
                    multiply_add(c[2 * j], x, w[0], w[1]);
                    multiply_add(c[2 * j + 1], x, w[2], w[3]);
                }
            }
        });
    put_narrow<4>(both + 2 * width + begin_of(side), strides.at[1], c, first + m, rows, n, count_of(side), scale);
}
