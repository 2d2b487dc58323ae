// Causal attention of packed sequences, and attention of single rows to pages.
//
// Both go through attend_rows, so a row's bits are the same: keys in blocks of 64 from the beginning
// of the sequence, in order; scores by the tensor core over the head, 16 numbers at a time; a running
// maximum; weights rounded to bf16, their sum by the tensor core against ones. A row of a tile of 16
// knows nothing of the other 15, and a block of keys that it does not see changes nothing: its
// weights are zero and its factor is one.

#define KEYS 64
#define BUFFERS 3
#define ONES 0x3f803f80u
// Less than every score, and no infinity: the difference of two of them is zero.
#define UNSEEN -1e30f

__device__ __forceinline__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }

__device__ __forceinline__ void copy_16_bytes(u32 to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0));
}

__device__ __forceinline__ void load_tiles(u32 *r, u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}

__device__ __forceinline__ void load_tiles_turned(u32 *r, u32 from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from));
}

__device__ __forceinline__ void multiply_add(float *c, const u32 *a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ u32 rounded_pair(float low, float high) { return (u32)rounded(low) | (u32)rounded(high) << 16; }

// Keys and values of a sequence that lie in the rows of a matrix.
struct PackedKeys {
    const bf16 *keys, *values;
    u64 stride;
    int length;
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

template <int D> struct Attended {
    float sums[D / 8][4];
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
            copy_16_bytes(place, from ? from + chunk * 8 : source.keys, from != 0);
        }
    }
    asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void wait_for_item() {
    asm volatile("cp.async.wait_group %0;" ::"n"(BUFFERS - 2));
    __syncthreads();
}

// Scores of a block of keys become weights: their maximum is joined to `top`, and `factor` is what
// everything before has to be multiplied by.
template <int D>
__device__ __forceinline__ void weigh(u32 (*weights)[2], float *factor, float *top, u32 keys, const u32 (*query)[4],
                                      const Rows &rows, int first_key, float scale) {
    int lane = threadIdx.x % 32, pair = lane % 4 * 2;
    float c[8][4];
#pragma unroll
    for (int j = 0; j < 8; j++) c[j][0] = c[j][1] = c[j][2] = c[j][3] = 0.0f;
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int key = j * 16 + lane % 8 + lane / 16 * 8, chunk = k * 2 + lane / 8 % 2;
            u32 r[4];
            load_tiles(r, keys + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
            multiply_add(c[2 * j], query[k], r[0], r[1]);
            multiply_add(c[2 * j + 1], query[k], r[2], r[3]);
        }
#pragma unroll
    for (int half = 0; half < 2; half++) {
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

// Sums of values by weight, and of the weights.
template <int D>
__device__ __forceinline__ void add_values(Attended<D> &to, u32 values, const u32 (*weights)[2], const float *factor) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < D / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) to.sums[j][i] *= factor[i / 2];
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] *= factor[i / 2];
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        u32 a[4] = {weights[2 * k][0], weights[2 * k][1], weights[2 * k + 1][0], weights[2 * k + 1][1]};
        multiply_add(to.weights, a, ONES, ONES);
#pragma unroll
        for (int h = 0; h < D / 16; h++) {
            int key = k * 16 + lane % 8 + lane / 8 % 2 * 8, chunk = h * 2 + lane / 16;
            u32 r[4];
            load_tiles_turned(r, values + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
            multiply_add(to.sums[2 * h], a, r[0], r[1]);
            multiply_add(to.sums[2 * h + 1], a, r[2], r[3]);
        }
    }
}

// A warp's tile of 16 rows over `blocks` blocks of keys, which all warps load together.
// `warp_sees` is the most that a row of the warp sees.
template <int D, int THREADS, class Source>
__device__ __forceinline__ void attend_rows(Attended<D> &to, const Source &source, int blocks, const Rows &rows,
                                            int warp_sees, float scale) {
    __shared__ __align__(128) unsigned char space[BUFFERS * KEYS * D * 2];
    u32 buffers = shared_address(space), pair = threadIdx.x % 4 * 2;
    for (int item = 0; item < BUFFERS - 1; item++) load_item<D, THREADS>(source, buffers, item, blocks);
    u32 query[D / 16][4];
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const bf16 *from = rows.query[i % 2];
            query[k][i] = from ? *(const u32 *)(from + k * 16 + i / 2 * 8 + pair) : 0u;
        }
#pragma unroll
    for (int j = 0; j < D / 8; j++) to.sums[j][0] = to.sums[j][1] = to.sums[j][2] = to.sums[j][3] = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] = 0.0f;
    to.top[0] = to.top[1] = UNSEEN;
    for (int block = 0; block < blocks; block++) {
        bool seen = block * KEYS < warp_sees;
        u32 weights[8][2];
        float factor[2];
        wait_for_item();
        load_item<D, THREADS>(source, buffers, 2 * block + BUFFERS - 1, blocks);
        u32 keys = buffers + 2 * block % BUFFERS * (KEYS * D * 2);
        if (seen) weigh<D>(weights, factor, to.top, keys, query, rows, block * KEYS, scale);
        wait_for_item();
        load_item<D, THREADS>(source, buffers, 2 * block + BUFFERS, blocks);
        u32 values = buffers + (2 * block + 1) % BUFFERS * (KEYS * D * 2);
        if (seen) add_values<D>(to, values, weights, factor);
    }
}

template <int D> __device__ __forceinline__ void put_row(bf16 *to, const Attended<D> &from, int half) {
    float inverse = __frcp_rn(from.weights[2 * half]);
    u32 pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < D / 8; j++)
        *(u32 *)(to + j * 8 + pair) = rounded_pair(from.sums[j][2 * half] * inverse, from.sums[j][2 * half + 1] * inverse);
}

struct Heads {
    u64 heads, kv_heads, at_once, unused;
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
    PackedKeys source = {row + key_head * D, row + (key_head + shape.kv_heads) * D, stride, length};
    int tile = first + warp % warps * 16;
    Rows rows;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = tile + group + half * 8;
        rows.query[half] = at < length ? row + at * stride + head * D : 0;
        rows.sees[half] = at < length ? at + 1 : 0;
    }
    Attended<D> sums;
    int warp_sees = tile < length ? min(length, tile + 16) : 0;
    attend_rows<D, 256>(sums, source, (block_end + KEYS - 1) / KEYS, rows, warp_sees, scale);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = tile + group + half * 8;
        if (at >= length) continue;
        put_row<D>(out + (begin + at) * out_stride + head * D, sums, half);
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
    u64 count, unused;
};

// A block for each row and head of keys. The first warp computes for all heads of queries that share
// it, at most 16; the others help to load.
template <int D>
__device__ __forceinline__ void attend_to_pages(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages,
                                                Tables tables, Heads shape, float scale) {
    u32 kv_head = blockIdx.x % (u32)shape.kv_heads, row = blockIdx.x / (u32)shape.kv_heads;
    int shared_by = shape.heads / shape.kv_heads, group = threadIdx.x % 32 / 4;
    u32 start = tables.starts[row], offset = kv_head * 16 * D;
    int length = tables.lengths[row];
    u32 listed = start < tables.listed ? tables.listed - start : 0;
    PagedKeys source = {pages.keys + offset, pages.values + offset, tables.pages + start, (u32)pages.count, listed,
                        shape.kv_heads * 16 * D, length, D};
    bool computes = threadIdx.x < 32;
    Rows rows;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int head = group + half * 8;
        bool there = computes && head < shared_by;
        rows.query[half] = there ? qkv + row * stride + (kv_head * shared_by + head) * D : 0;
        rows.sees[half] = there ? length : 0;
    }
    Attended<D> sums;
    attend_rows<D, 128>(sums, source, (length + KEYS - 1) / KEYS, rows, computes ? length : 0, scale);
#pragma unroll
    for (int half = 0; half < 2; half++)
        if (rows.query[half])
            put_row<D>(out + row * out_stride + (kv_head * shared_by + group + half * 8) * D, sums, half);
}

KERNEL_OF(128, 3) attention_paged_64(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
                                  Heads shape, float scale) {
    attend_to_pages<64>(out, out_stride, qkv, stride, pages, tables, shape, scale);
}

KERNEL_OF(128, 3) attention_paged_128(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
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
