// Attention of single rows to pages, and what is put into them. `attention.cuh` is in front.

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
        u64 to = (slot / 16 * shape.kv_heads + head) * 16 * size + place_in_page(slot % 16, place % size, size);
        (at < width ? keys : values)[to] = row[at];
    }
}
