// Causal attention of packed sequences, and attention of single rows to pages.
//
// Both go through the same functions, so a row's bits are the same: keys in blocks of 64 from the beginning
// of the sequence, in order; scores by the tensor core over the head, 16 numbers at a time; a running
// maximum; weights rounded to bf16, their sum by the tensor core against ones. A row of a tile of 16
// knows nothing of the other 15, and a block of keys that it does not see changes nothing: its
// weights are zero and its factor is one.
//
// A head has D numbers or fewer, a multiple of 8: what is missing is zero and is not written.

#define KEYS 64
#define BUFFERS 3
#define ONES 0x3f803f80u
// Less than every score, and no infinity: the difference of two of them is zero.
#define UNSEEN -1e30f

// Keys and values of a sequence that lie in the rows of a matrix.
struct PackedKeys {
    const bf16 *keys, *values;
    u64 stride;
    int length, size;
    __device__ __forceinline__ const bf16 *at(int position, bool of_values) const {
        return position < length ? (of_values ? values : keys) + position * stride : 0;
    }
};

// Keys and values in pages of 16 tokens: page, head, token, place.
struct PagedKeys {
    const bf16 *keys, *values;
    const u32 *pages;
    u32 page_count, listed;
    u64 page_size;
    int length, size;
    __device__ __forceinline__ const bf16 *at(int position, bool of_values) const {
        if (position >= length || (u32)position / 16 >= listed) return 0;
        u32 page = pages[position / 16];
        if (page >= page_count) return 0;
        return (of_values ? values : keys) + page * page_size + position % 16 * size;
    }
};

// The two rows of a tile that a thread holds a part of: the thread's lane / 4, and that plus 8.
struct Rows {
    const bf16 *query[2];
    // How many keys each sees; 0 for a row that is not there.
    int sees[2];
};

// Sums of rows over some columns of the values.
template <int COLUMNS> struct Attended {
    float sums[COLUMNS / 8][4];
    float weights[4];
    float top[2];
};

template <int D, int THREADS, class Source>
__device__ __forceinline__ void load_item(const Source &source, u32 buffers, int item, int blocks) {
    constexpr int CHUNKS = D / 8;
    if (item / 2 < blocks) {
        u32 to = buffers + item % BUFFERS * (KEYS * D * 2);
#pragma unroll
        for (int j = 0; j < KEYS * CHUNKS / THREADS; j++) {
            int i = threadIdx.x + j * THREADS, key = i / CHUNKS, chunk = i % CHUNKS;
            const bf16 *from = source.at(item / 2 * KEYS + key, item & 1);
            u32 place = to + key * (D * 2) + ((chunk ^ (key & 7)) << 4);
            bool there = from != 0 && chunk * 8 < source.size;
            copy_16_bytes(place, there ? from + chunk * 8 : source.keys, there);
        }
    }
    asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void wait_for_item() {
    asm volatile("cp.async.wait_group %0;" ::"n"(BUFFERS - 2));
    __syncthreads();
}

// Scores of 16 keys, two tiles of 8: a chain over the numbers of a head.
template <int D> __device__ __forceinline__ void score_16_keys(float (*c)[4], u32 keys, int first, const u32 (*query)[4], int k) {
    int lane = threadIdx.x % 32, key = first + lane % 8 + lane / 16 * 8, chunk = k * 2 + lane / 8 % 2;
    u32 r[4];
    load_tiles(r, keys + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
    multiply_add(c[0], query[k], r[0], r[1]);
    multiply_add(c[1], query[k], r[2], r[3]);
}

// Scores of a block of keys become weights: their maximum is joined to `top`, and `factor` is what
// everything before has to be multiplied by. Without the second half its rows are not there.
__device__ __forceinline__ void weigh(u32 (*weights)[2], float *factor, float *top, float (*c)[4], const Rows &rows,
                                      int first_key, float scale, bool both_halves) {
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (half == 1 && !both_halves) {
            factor[1] = 1.0f;
#pragma unroll
            for (int j = 0; j < 8; j++) weights[j][1] = 0;
            continue;
        }
        bool cut = first_key + KEYS > rows.sees[half];
        float most = UNSEEN;
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float score = c[j][2 * half + i] * scale;
                if (cut && first_key + j * 8 + pair + i >= rows.sees[half]) score = UNSEEN;
                c[j][2 * half + i] = score;
                most = fmaxf(most, score);
            }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        most = fmaxf(most, top[half]);
        factor[half] = power_of_two(top[half] - most);
        top[half] = most;
#pragma unroll
        for (int j = 0; j < 8; j++)
            weights[j][half] =
                rounded_pair(power_of_two(c[j][2 * half] - most), power_of_two(c[j][2 * half + 1] - most));
    }
}

template <int COLUMNS> __device__ __forceinline__ void begin_sums(Attended<COLUMNS> &to) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++) to.sums[j][0] = to.sums[j][1] = to.sums[j][2] = to.sums[j][3] = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] = 0.0f;
    to.top[0] = to.top[1] = UNSEEN;
}

// Sums of values by weight, from column `first` on, and of the weights.
template <int D, int COLUMNS>
__device__ __forceinline__ void add_values(Attended<COLUMNS> &to, u32 values, const u32 (*weights)[2], const float *factor,
                                           int first) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) to.sums[j][i] *= factor[i / 2];
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] *= factor[i / 2];
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        u32 a[4] = {weights[2 * k][0], weights[2 * k][1], weights[2 * k + 1][0], weights[2 * k + 1][1]};
        multiply_add(to.weights, a, ONES, ONES);
#pragma unroll
        for (int h = 0; h < COLUMNS / 16; h++) {
            int key = k * 16 + lane % 8 + lane / 8 % 2 * 8, chunk = first / 8 + h * 2 + lane / 16;
            u32 r[4];
            load_tiles_turned(r, values + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
            multiply_add(to.sums[2 * h], a, r[0], r[1]);
            multiply_add(to.sums[2 * h + 1], a, r[2], r[3]);
        }
    }
}

template <int D> __device__ __forceinline__ void load_queries(u32 (*query)[4], const Rows &rows, int size) {
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const bf16 *from = rows.query[i % 2];
            int column = k * 16 + i / 2 * 8;
            query[k][i] = from && column < size ? *(const u32 *)(from + column + pair) : 0u;
        }
}

// A warp's tile of 16 rows over `blocks` blocks of keys, which all warps load together.
// `warp_sees` is the most that a row of the warp sees.
template <int D, int THREADS, class Source>
__device__ __forceinline__ void attend_rows(Attended<D> &to, const Source &source, int blocks, const Rows &rows,
                                            int warp_sees, float scale) {
    __shared__ __align__(128) unsigned char space[BUFFERS * KEYS * D * 2];
    u32 buffers = shared_address(space);
    for (int item = 0; item < BUFFERS - 1; item++) load_item<D, THREADS>(source, buffers, item, blocks);
    u32 query[D / 16][4];
    load_queries<D>(query, rows, source.size);
    begin_sums(to);
    for (int block = 0; block < blocks; block++) {
        bool seen = block * KEYS < warp_sees;
        u32 weights[8][2];
        float factor[2];
        wait_for_item();
        load_item<D, THREADS>(source, buffers, 2 * block + BUFFERS - 1, blocks);
        u32 keys = buffers + 2 * block % BUFFERS * (KEYS * D * 2);
        if (seen) {
            float c[8][4];
#pragma unroll
            for (int j = 0; j < 8; j++) c[j][0] = c[j][1] = c[j][2] = c[j][3] = 0.0f;
#pragma unroll
            for (int k = 0; k < D / 16; k++)
#pragma unroll
                for (int j = 0; j < 4; j++) score_16_keys<D>(c + 2 * j, keys, j * 16, query, k);
            weigh(weights, factor, to.top, c, rows, block * KEYS, scale, true);
        }
        wait_for_item();
        load_item<D, THREADS>(source, buffers, 2 * block + BUFFERS, blocks);
        u32 values = buffers + (2 * block + 1) % BUFFERS * (KEYS * D * 2);
        if (seen) add_values<D, D>(to, values, weights, factor, 0);
    }
}

// Columns from `first` on of a row, those that there are.
template <int COLUMNS>
__device__ __forceinline__ void put_row(bf16 *to, const Attended<COLUMNS> &from, int half, int first, int size) {
    float inverse = __frcp_rn(from.weights[2 * half]);
    u32 pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++)
        if (first + j * 8 < size)
            *(u32 *)(to + first + j * 8 + pair) =
                rounded_pair(from.sums[j][2 * half] * inverse, from.sums[j][2 * half + 1] * inverse);
}

struct Heads {
    u64 heads, kv_heads, at_once, size;
};

// Work is a sequence's first row, its length and the first query of a block, three numbers each.
// A block of 8 warps takes `at_once` heads that share their keys, 16 queries a warp.
template <int D>
__device__ __forceinline__ void forward(bf16 *out, u64 out_stride, float *lse, const bf16 *qkv, u64 stride,
                                        const u32 *work, Heads shape, float scale) {
    u32 slices = shape.heads / shape.at_once, slice = blockIdx.x % slices;
    const u32 *own = work + (u64)(blockIdx.x / slices) * 3;
    u64 begin = own[0];
    int length = own[1], first = own[2], warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
    int warps = 8 / (int)shape.at_once, block_end = min(length, first + warps * 16);
    u32 head = slice * (u32)shape.at_once + warp / warps;
    u64 key_head = shape.heads + head / (shape.heads / shape.kv_heads);
    const bf16 *row = qkv + begin * stride;
    PackedKeys source = {row + key_head * shape.size, row + (key_head + shape.kv_heads) * shape.size, stride, length,
                         (int)shape.size};
    int tile = first + warp % warps * 16;
    Rows rows;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = tile + group + half * 8;
        rows.query[half] = at < length ? row + at * stride + head * shape.size : 0;
        rows.sees[half] = at < length ? at + 1 : 0;
    }
    Attended<D> sums;
    int warp_sees = tile < length ? min(length, tile + 16) : 0;
    attend_rows<D, 256>(sums, source, (block_end + KEYS - 1) / KEYS, rows, warp_sees, scale);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = tile + group + half * 8;
        if (at >= length) continue;
        put_row<D>(out + (begin + at) * out_stride + head * shape.size, sums, half, 0, (int)shape.size);
        if (threadIdx.x % 4 == 0)
            lse[(begin + at) * shape.heads + head] = sums.top[half] * 0.693147182f + logf(sums.weights[2 * half]);
    }
}

KERNEL_OF(256, 1) attention_forward_64(bf16 *out, u64 out_stride, float *lse, const bf16 *qkv, u64 stride,
                                    const u32 *work, Heads shape, float scale) {
    forward<64>(out, out_stride, lse, qkv, stride, work, shape, scale);
}

KERNEL_OF(256, 1) attention_forward_128(bf16 *out, u64 out_stride, float *lse, const bf16 *qkv, u64 stride,
                                     const u32 *work, Heads shape, float scale) {
    forward<128>(out, out_stride, lse, qkv, stride, work, shape, scale);
}

struct Tables {
    const u32 *pages, *starts, *lengths;
    u64 listed;
};

struct Pages {
    const bf16 *keys, *values;
    // Whether kernels before this one wrote no token that a row sees but its last.
    u64 count, only_last_is_new;
};

// Numbers between rows of scores in shared memory, so that no two threads of a quarter meet in a bank.
#define SCORES 72

// A block of 4 warps for each row and head of keys; the heads of queries that share it, at most 16,
// are the rows of one tile. Shared memory: the buffers of keys and values, then 16 rows of scores. A
// warp scores 16 of 64 keys and sums up a quarter of the columns; weights are every warp's own work.
template <int D>
__device__ __forceinline__ void attend_to_pages(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages,
                                                Tables tables, Heads shape, float scale) {
    extern __shared__ __align__(128) unsigned char space[];
    float *scores = (float *)(space + BUFFERS * KEYS * D * 2);
    u32 buffers = shared_address(space), kv_head = blockIdx.x % (u32)shape.kv_heads, row = blockIdx.x / (u32)shape.kv_heads;
    int shared_by = shape.heads / shape.kv_heads, warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
    int pair = threadIdx.x % 4 * 2, size = (int)shape.size, length = tables.lengths[row];
    u32 start = tables.starts[row], offset = kv_head * 16 * size;
    u32 listed = start < tables.listed ? tables.listed - start : 0;
    PagedKeys source = {pages.keys + offset, pages.values + offset, tables.pages + start, (u32)pages.count, listed,
                        shape.kv_heads * 16 * size, length, size};
    int blocks = (length + KEYS - 1) / KEYS;
    let_next_kernel_begin();
    // The first block of keys and values: before the kernels that write a row's last token have ended.
    const bool early = pages.only_last_is_new && length > KEYS;
    if (!early) wait_for_kernels_before();
    for (int item = 0; item < BUFFERS - 1; item++) load_item<D, 128>(source, buffers, item, blocks);
    if (early) wait_for_kernels_before();
    Rows rows;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int head = group + half * 8;
        rows.query[half] = head < shared_by ? qkv + row * stride + (kv_head * shared_by + head) * size : 0;
        rows.sees[half] = head < shared_by ? length : 0;
    }
    const bool both_halves = shared_by > 8;
    u32 query[D / 16][4];
    load_queries<D>(query, rows, size);
    Attended<D / 4> sums;
    begin_sums(sums);
    for (int block = 0; block < blocks; block++) {
        wait_for_item();
        load_item<D, 128>(source, buffers, 2 * block + BUFFERS - 1, blocks);
        u32 keys = buffers + 2 * block % BUFFERS * (KEYS * D * 2);
        float own[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
#pragma unroll
        for (int k = 0; k < D / 16; k++) score_16_keys<D>(own, keys, warp * 16, query, k);
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (half == 0 || both_halves)
#pragma unroll
                for (int j = 0; j < 2; j++)
                    *(float2 *)(scores + (half * 8 + group) * SCORES + warp * 16 + j * 8 + pair) =
                        make_float2(own[j][2 * half], own[j][2 * half + 1]);
        wait_for_item();
        load_item<D, 128>(source, buffers, 2 * block + BUFFERS, blocks);
        float c[8][4];
#pragma unroll
        for (int half = 0; half < 2; half++)
            if (half == 0 || both_halves)
#pragma unroll
                for (int j = 0; j < 8; j++) {
                    float2 two = *(const float2 *)(scores + (half * 8 + group) * SCORES + j * 8 + pair);
                    c[j][2 * half] = two.x, c[j][2 * half + 1] = two.y;
                }
        u32 weights[8][2];
        float factor[2];
        weigh(weights, factor, sums.top, c, rows, block * KEYS, scale, both_halves);
        u32 values = buffers + (2 * block + 1) % BUFFERS * (KEYS * D * 2);
        add_values<D, D / 4>(sums, values, weights, factor, warp * (D / 4));
    }
#pragma unroll
    for (int half = 0; half < 2; half++)
        if (rows.query[half])
            put_row<D / 4>(out + row * out_stride + (kv_head * shared_by + group + half * 8) * size, sums, half,
                           warp * (D / 4), size);
}

KERNEL_OF(128, 4) attention_paged_64(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
                                  Heads shape, float scale) {
    attend_to_pages<64>(out, out_stride, qkv, stride, pages, tables, shape, scale);
}

KERNEL_OF(128, 4) attention_paged_128(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
                                   Heads shape, float scale) {
    attend_to_pages<128>(out, out_stride, qkv, stride, pages, tables, shape, scale);
}

// Keys and values of a token into its slot: page · 16 + place in the page. A slot that is not there
// is left out.
KERNEL store_in_pages(bf16 *keys, bf16 *values, u64 page_count, const bf16 *qkv, u64 stride, const u32 *slots,
                      Heads shape, u64 size) {
    u64 width = shape.kv_heads * size, slot = slots[blockIdx.x];
    if (slot >= page_count * 16) return;
    const bf16 *row = qkv + blockIdx.x * stride + shape.heads * size;
    for (u64 at = threadIdx.x; at < 2 * width; at += blockDim.x) {
        u64 place = at % width, head = place / size;
        u64 to = (slot / 16 * shape.kv_heads + head) * 16 * size + slot % 16 * size + place % size;
        (at < width ? keys : values)[to] = row[at];
    }
}
