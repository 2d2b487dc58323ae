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

// Queries and keys, and where the values lie: where a row of all three has them.
struct Packed {
    const bf16 *data;
    u64 stride;
    const bf16 *values;
    u64 values_stride;
};

// Work is a sequence's first row, its length and the first query of a block, three numbers each.
// A block of 8 warps takes `at_once` heads that share their keys, 16 queries a warp.
template <int D>
__device__ __forceinline__ void forward(bf16 *out, u64 out_stride, float *lse, Packed packed,
                                        const u32 *work, Heads shape, float scale) {
    u32 slices = shape.heads / shape.at_once, slice = blockIdx.x % slices;
    const u32 *own = work + (u64)(blockIdx.x / slices) * 3;
    u64 begin = own[0];
    int length = own[1], first = own[2], warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4;
    int warps = 8 / (int)shape.at_once, block_end = min(length, first + warps * 16);
    u32 head = slice * (u32)shape.at_once + warp / warps;
    u64 key_head = shape.heads + head / (shape.heads / shape.kv_heads);
    const u64 stride = packed.stride;
    const bf16 *row = packed.data + begin * stride, *value_row = packed.values + begin * packed.values_stride;
    PackedKeys source = {row + key_head * shape.size, value_row + (key_head + shape.kv_heads) * shape.size, stride,
                         packed.values_stride, length, (int)shape.size};
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

KERNEL_OF(256, 1) attention_forward_64(bf16 *out, u64 out_stride, float *lse, Packed packed,
                                    const u32 *work, Heads shape, float scale) {
    forward<64>(out, out_stride, lse, packed, work, shape, scale);
}

KERNEL_OF(256, 1) attention_forward_128(bf16 *out, u64 out_stride, float *lse, Packed packed,
                                     const u32 *work, Heads shape, float scale) {
    forward<128>(out, out_stride, lse, packed, work, shape, scale);
}
