// The gradients of queries, keys and values of causal attention over packed sequences.
//
// Three kernels, none of which waits for another block or adds with atomics. `attention_delta`: what
// is known of each query, lse and Σ do·o. `attention_keys`: a block owns 64 keys of one head of keys
// and walks over the heads that share it and over tiles of 64 queries, in order; scores are computed
// transposed (keys by queries), so that weights and their gradients come out of the tensor core as the
// next product wants them, and dk and dv stay in registers. `attention_queries`: a block owns queries
// and walks over tiles of 64 keys, in order; it computes scores again, which costs two products of
// seven and needs no exchange between blocks. Every sum is one chain, 16 numbers at a time.
//
// A head has D numbers or fewer, a multiple of 8: what is missing is zero and is not written. Rows
// behind the end of a sequence are zero and have lse = infinity, so that their weights are zero.

#define ROWS 64

struct Heads {
    u64 heads, kv_heads, at_once, size;
};

// Some rows of a sequence: its number, where it begins, how long it is, the first of them, and where the
// sequence begins among rows in whole tiles of 64.
struct Work {
    u32 sequence, begin, length, first, padded, unused[3];
};

// lse as a power of two, and Σ do·o.
struct __align__(8) Stat {
    float lse, delta;
};

struct Matrix {
    const bf16 *data;
    u64 stride, unused[2];
};

// Queries and keys, and where the values lie: where a row of all three has them.
struct Packed {
    const bf16 *data;
    u64 stride;
    const bf16 *values;
    u64 values_stride;
};

// Eight blocks for a tile of 64 rows; D / 8 lanes for each row and head, added by a tree. A lane asks for all
// that it needs of some of them before it adds up one.
template <int D>
__device__ __forceinline__ void delta(Stat *stats, u64 padded, Matrix out, Matrix dout, const float *lse, const Work *works,
                                      Heads shape) {
    constexpr int LANES = D / 8, AT_ONCE = 4, STEP = 256 / LANES;
    const Work work = works[blockIdx.x / 8];
    const u32 row0 = work.first + blockIdx.x % 8 * 8, heads = (u32)shape.heads, all = 8 * heads;
    const u32 lane = threadIdx.x % LANES, size = (u32)shape.size;
    for (u32 begin = threadIdx.x / LANES; begin < all; begin += AT_ONCE * STEP) {
        uint4 x[AT_ONCE], y[AT_ONCE];
        float known[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u32 at = begin + i * STEP, place = row0 + at / heads, head = at % heads;
            const bool there = at < all && place < work.length, own = there && lane * 8 < size;
            const u64 row = work.begin + place, column = head * size + lane * 8;
            x[i] = own ? *(const uint4 *)(out.data + row * out.stride + column) : make_uint4(0, 0, 0, 0);
            y[i] = own ? *(const uint4 *)(dout.data + row * dout.stride + column) : make_uint4(0, 0, 0, 0);
            known[i] = there ? lse[row * heads + head] * 1.44269502f : __int_as_float(0x7f800000);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const u32 at = begin + i * STEP;
            float a[GROUP], b[GROUP], sum = 0.0f;
            unpack_group(a, x[i]), unpack_group(b, y[i]);
#pragma unroll
            for (int j = 0; j < GROUP; j++) sum = fmaf(a[j], b[j], sum);
#pragma unroll
            for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
            if (lane == 0 && at < all) stats[at % heads * padded + work.padded + row0 + at / heads] = Stat{known[i], sum};
        }
    }
}

KERNEL_OF(256, 4) attention_delta_64(Stat *stats, u64 padded, Matrix out, Matrix dout, const float *lse, const Work *works,
                                     Heads shape) {
    delta<64>(stats, padded, out, dout, lse, works, shape);
}

KERNEL_OF(256, 4) attention_delta_128(Stat *stats, u64 padded, Matrix out, Matrix dout, const float *lse, const Work *works,
                                      Heads shape) {
    delta<128>(stats, padded, out, dout, lse, works, shape);
}

// Rows of D numbers in shared memory, chunks of 16 bytes exchanged so that no two meet in a bank.
template <int D> __device__ __forceinline__ u32 chunk_at(u32 tile, int row, int chunk) {
    return tile + row * (D * 2) + ((chunk ^ (row & 7)) << 4);
}

// Tiles begin at multiples of their rows, so that a step of 16 numbers along a row is the exchange of
// bits that chunk_at makes.
__device__ __forceinline__ u32 step_along(u32 at, int k) { return at ^ (k << 5); }

// The first operand: 16 rows, numbers from 16 · k on.
template <int D> __device__ __forceinline__ void load_rows(u32 *a, u32 tile, int row, int k) {
    int lane = threadIdx.x % 32;
    load_tiles(a, step_along(chunk_at<D>(tile, row + lane % 16, lane / 16), k));
}

// The second operand, 16 of its columns: rows of the tile are columns, their numbers are summed.
template <int D> __device__ __forceinline__ void load_columns(u32 *b, u32 tile, int row, int k) {
    int lane = threadIdx.x % 32;
    load_tiles(b, step_along(chunk_at<D>(tile, lane % 8 + lane / 16 * 8, lane / 8 % 2), k) + row * (D * 2));
}

// The second operand, 16 of its columns from 16 · h on: rows of the tile are summed.
template <int D> __device__ __forceinline__ void load_summed(u32 *b, u32 tile, int k, int h) {
    int lane = threadIdx.x % 32;
    load_tiles_turned(b, step_along(chunk_at<D>(tile, lane % 8 + lane / 8 % 2 * 8, lane / 16), h) + k * 16 * (D * 2));
}

// 64 rows of two heads into two tiles side by side, by THREADS threads.
template <int D, int THREADS>
__device__ __forceinline__ void load_two(u32 to, const bf16 *one, u32 one_stride, const bf16 *two, u32 two_stride, int first,
                                         int length, int size) {
    constexpr int CHUNKS = D / 8;
#pragma unroll
    for (int j = 0; j < ROWS * CHUNKS / THREADS; j++) {
        int i = threadIdx.x + j * THREADS, row = i / CHUNKS, chunk = i % CHUNKS, place = first + row;
        bool there = place < length && chunk * 8 < size;
        u32 at = there ? place : 0, column = there ? chunk * 8 : 0;
        copy_16_bytes(chunk_at<D>(to, row, chunk), one + (u64)at * one_stride + column, there);
        copy_16_bytes(chunk_at<D>(to + ROWS * D * 2, row, chunk), two + (u64)at * two_stride + column, there);
    }
}

__device__ __forceinline__ void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int LEFT> __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
    __syncthreads();
}

template <int N> __device__ __forceinline__ void clear(float (*c)[4]) {
#pragma unroll
    for (int j = 0; j < N; j++) c[j][0] = c[j][1] = c[j][2] = c[j][3] = 0.0f;
}

// c += a · tileᵀ for a warp's 16 rows and the tile's 64, over a head.
template <int D, class Operand> __device__ __forceinline__ void multiply_heads(float (*c)[4], Operand a_of, u32 tile) {
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        u32 a[4];
        a_of(a, k);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            u32 b[4];
            load_columns<D>(b, tile, j * 16, k);
            multiply_add(c[2 * j], a, b[0], b[1]);
            multiply_add(c[2 * j + 1], a, b[2], b[3]);
        }
    }
}

// c += a · tile for a warp's 16 rows, over the tile's 64; a comes from registers, two numbers rounded
// at a time.
template <int D, class Operand> __device__ __forceinline__ void multiply_rows(float (*c)[4], Operand a_of, u32 tile) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
        u32 a[4] = {a_of(2 * k, 0), a_of(2 * k, 1), a_of(2 * k + 1, 0), a_of(2 * k + 1, 1)};
#pragma unroll
        for (int h = 0; h < D / 16; h++) {
            u32 b[4];
            load_summed<D>(b, tile, k, h);
            multiply_add(c[2 * h], a, b[0], b[1]);
            multiply_add(c[2 * h + 1], a, b[2], b[3]);
        }
    }
}

template <int D> __device__ __forceinline__ void put_sums(bf16 *to, const float (*c)[4], int half, float scale, int size) {
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < D / 8; j++)
        if (j * 8 < size) *(u32 *)(to + j * 8 + pair) = rounded_pair(c[j][half * 2] * scale, c[j][half * 2 + 1] * scale);
}

struct Scale {
    // Of a score, and of a score as a power of two.
    float plain, power;
};

// A block of 4 warps for 64 keys of a head of keys, 16 keys a warp. Shared memory: keys and values,
// then two stages of queries, their gradients' and what is known of them.
template <int D>
__device__ __forceinline__ void of_keys(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                        const Work *works, Heads shape, Scale scale) {
    constexpr int BYTES = ROWS * D * 2, STAGE = 2 * BYTES + ROWS * 8;
    extern __shared__ __align__(1024) unsigned char space[];
    const u32 keys = shared_address(space), values = keys + BYTES, stages = keys + 2 * BYTES;
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2, size = (int)shape.size;
    const Work work = works[blockIdx.x / (u32)shape.kv_heads];
    const int kv = blockIdx.x % (u32)shape.kv_heads, length = work.length, shared_by = (int)(shape.heads / shape.kv_heads);
    const int key0 = work.first + warp * 16;
    {
        const bf16 *row = qkv.data + work.begin * qkv.stride + (shape.heads + kv) * size;
        const bf16 *value_row = qkv.values + work.begin * qkv.values_stride + (shape.heads + shape.kv_heads + kv) * size;
        load_two<D, 128>(keys, row, qkv.stride, value_row, qkv.values_stride, work.first, length, size);
    }
    // The stage that is loaded next: its head and its first query.
    int head = kv * shared_by, first = work.first;
    auto load_stage = [&](int stage) {
        u32 to = stages + stage * STAGE;
        const bf16 *row = qkv.data + work.begin * qkv.stride + head * size;
        const bf16 *drow = dout.data + work.begin * dout.stride + head * size;
        load_two<D, 128>(to, row, qkv.stride, drow, dout.stride, first, length, size);
        if (threadIdx.x < 32)
            copy_16_bytes(to + 2 * BYTES + threadIdx.x * 16, stats + head * padded + work.padded + first + threadIdx.x * 2, true);
        first += ROWS;
        if (first >= length) first = work.first, head++;
    };
    load_stage(0);
    end_copies();
    float dk[D / 8][4], dv[D / 8][4];
    clear<D / 8>(dk), clear<D / 8>(dv);
    int query0 = work.first;
    for (int left = (length - query0 + ROWS - 1) / ROWS * shared_by, stage = 0; left > 0; left--, stage ^= 1) {
        if (left > 1) load_stage(stage ^ 1);
        end_copies();
        wait_for_copies<1>();
        const u32 queries = stages + stage * STAGE, gradients = queries + BYTES;
        const float4 *known = (const float4 *)(space + 2 * BYTES + stage * STAGE + 2 * BYTES);
        // Some query of the tile sees some key of the warp.
        if (query0 + ROWS > key0) {
            float p[8][4], ds[8][4];
            clear<8>(p);
            multiply_heads<D>(p, [&](u32 *a, int k) { load_rows<D>(a, keys, warp * 16, k); }, queries);
            const bool diagonal = key0 + 15 > query0;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                float4 two = known[j * 4 + pair / 2];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    float weight = power_of_two(fmaf(p[j][i], scale.power, -(i % 2 ? two.z : two.x)));
                    bool seen = key0 + group + i / 2 * 8 <= query0 + j * 8 + pair + i % 2;
                    p[j][i] = diagonal && !seen ? 0.0f : weight;
                }
            }
            multiply_rows<D>(dv, [&](int j, int half) { return rounded_pair(p[j][2 * half], p[j][2 * half + 1]); }, gradients);
            u32 slopes[8][2];
            clear<8>(ds);
            multiply_heads<D>(ds, [&](u32 *a, int k) { load_rows<D>(a, values, warp * 16, k); }, gradients);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                float4 two = known[j * 4 + pair / 2];
                slopes[j][0] = rounded_pair(p[j][0] * (ds[j][0] - two.y), p[j][1] * (ds[j][1] - two.w));
                slopes[j][1] = rounded_pair(p[j][2] * (ds[j][2] - two.y), p[j][3] * (ds[j][3] - two.w));
            }
            multiply_rows<D>(dk, [&](int j, int half) { return slopes[j][half]; }, queries);
        }
        query0 += ROWS;
        if (query0 >= length) query0 = work.first;
        // The stage may be written again.
        __syncthreads();
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int place = key0 + group + half * 8;
        if (place >= length) continue;
        bf16 *to = dqkv + (work.begin + place) * dstride;
        put_sums<D>(to + (shape.heads + kv) * size, dk, half, scale.plain, size);
        put_sums<D>(to + (shape.heads + shape.kv_heads + kv) * size, dv, half, 1.0f, size);
    }
}

KERNEL_OF(128, 2) attention_keys_64(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                    const Work *works, Heads shape, Scale scale) {
    of_keys<64>(dqkv, dstride, qkv, dout, stats, padded, works, shape, scale);
}

KERNEL_OF(128, 2) attention_keys_128(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                     const Work *works, Heads shape, Scale scale) {
    of_keys<128>(dqkv, dstride, qkv, dout, stats, padded, works, shape, scale);
}

#define STAGES 3

// A block of 8 warps for `at_once` heads that share their keys, 16 queries of one head a warp. Shared
// memory: three stages of keys and values.
template <int D>
__device__ __forceinline__ void of_queries(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                           const Work *works, Heads shape, Scale scale) {
    constexpr int BYTES = ROWS * D * 2;
    extern __shared__ __align__(1024) unsigned char space[];
    const u32 stages = shared_address(space), slices = (u32)(shape.heads / shape.at_once);
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2, size = (int)shape.size;
    const Work work = works[blockIdx.x / slices];
    const int warps = 8 / (int)shape.at_once, head = blockIdx.x % slices * (int)shape.at_once + warp / warps;
    const int length = work.length, query0 = work.first + warp % warps * 16;
    const int steps = (min(length, (int)work.first + warps * 16) + ROWS - 1) / ROWS;
    const bf16 *row = qkv.data + work.begin * qkv.stride, *drow = dout.data + work.begin * dout.stride;
    const u64 key_column = (shape.heads + head / (shape.heads / shape.kv_heads)) * size;
    const bf16 *keys = row + key_column, *values = qkv.values + work.begin * qkv.values_stride + key_column + shape.kv_heads * size;
    auto load_stage = [&](int step) {
        u32 to = stages + step % STAGES * 2 * BYTES;
        if (step < steps) load_two<D, 256>(to, keys, qkv.stride, values, qkv.values_stride, step * ROWS, length, size);
        end_copies();
    };
    for (int step = 0; step < STAGES - 1; step++) load_stage(step);
    u32 query[D / 16][4], gradient[D / 16][4];
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int place = query0 + group + i % 2 * 8, column = k * 16 + i / 2 * 8;
            bool there = place < length && column < size;
            u64 at = head * size + column + pair;
            query[k][i] = there ? *(const u32 *)(row + place * qkv.stride + at) : 0u;
            gradient[k][i] = there ? *(const u32 *)(drow + place * dout.stride + at) : 0u;
        }
    // Rows in whole tiles of 64 end later than a block of 128 queries may.
    Stat known[2] = {{__int_as_float(0x7f800000), 0.0f}, {__int_as_float(0x7f800000), 0.0f}};
#pragma unroll
    for (int half = 0; half < 2; half++)
        if (query0 + group + half * 8 < length)
            known[half] = stats[head * padded + work.padded + query0 + group + half * 8];
    float dq[D / 8][4];
    clear<D / 8>(dq);
    for (int step = 0; step < steps; step++) {
        wait_for_copies<STAGES - 2>();
        load_stage(step + STAGES - 1);
        const u32 key_tile = stages + step % STAGES * 2 * BYTES, value_tile = key_tile + BYTES;
        if (step * ROWS > query0 + 15) continue;
        float p[8][4], ds[8][4];
        clear<8>(p), clear<8>(ds);
        multiply_heads<D>(p, [&](u32 *a, int k) { a[0] = query[k][0], a[1] = query[k][1], a[2] = query[k][2], a[3] = query[k][3]; },
                          key_tile);
        multiply_heads<D>(ds, [&](u32 *a, int k) { a[0] = gradient[k][0], a[1] = gradient[k][1], a[2] = gradient[k][2], a[3] = gradient[k][3]; },
                          value_tile);
        const bool diagonal = step * ROWS + ROWS - 1 > query0;
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                float weight = power_of_two(fmaf(p[j][i], scale.power, -known[i / 2].lse));
                bool seen = step * ROWS + j * 8 + pair + i % 2 <= query0 + group + i / 2 * 8;
                ds[j][i] = (diagonal && !seen ? 0.0f : weight) * (ds[j][i] - known[i / 2].delta);
            }
        multiply_rows<D>(dq, [&](int j, int half) { return rounded_pair(ds[j][2 * half], ds[j][2 * half + 1]); }, key_tile);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int place = query0 + group + half * 8;
        if (place < length) put_sums<D>(dqkv + (work.begin + place) * dstride + head * size, dq, half, scale.plain, size);
    }
}

KERNEL_OF(256, 1) attention_queries_64(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                       const Work *works, Heads shape, Scale scale) {
    of_queries<64>(dqkv, dstride, qkv, dout, stats, padded, works, shape, scale);
}

KERNEL_OF(256, 1) attention_queries_128(bf16 *dqkv, u64 dstride, Packed qkv, Matrix dout, const Stat *stats, u64 padded,
                                        const Work *works, Heads shape, Scale scale) {
    of_queries<128>(dqkv, dstride, qkv, dout, stats, padded, works, shape, scale);
}
