// Rows of a table for tokens, and back. One block for a token; a token beyond the table is a fault.

KERNEL gather_rows(bf16 *to, const bf16 *table, const u32 *ids, u64 table_rows, u64 width) {
    let_next_kernel_begin();
    wait_for_kernels_before();
    u32 id = ids[blockIdx.x];
    if (id >= table_rows) __trap();
    const bf16 *from = table + (u64)id * width;
    to += (u64)blockIdx.x * width;
    for (u64 at = (u64)threadIdx.x * GROUP; at < width; at += (u64)blockDim.x * GROUP) {
        float x[GROUP];
        int end = width - at < GROUP ? (int)(width - at) : GROUP;
        load_group(x, from + at, end);
        store_group(to + at, x, end);
    }
}

// Ids, or where the highest bit is set the token that was sampled in a row.
KERNEL resolve_ids(u32 *to, const u32 *ids, const u32 *sampled, u32 count, u32 rows) {
    u32 at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    u32 id = ids[at], row = id & 0x7fffffffu;
    to[at] = id == row ? id : row < rows ? sampled[row] : 0u;
}

// The block of a token's first occurrence adds all of them, in their order.
template <typename T>
__device__ __forceinline__ void scatter(T *table, const bf16 *dy, const u32 *ids, u32 tokens, u64 table_rows, u64 width) {
    u32 first = blockIdx.x, id = ids[first];
    if (id >= table_rows) __trap();
    for (u32 before = threadIdx.x; before - threadIdx.x < first; before += blockDim.x) {
        bool seen = before < first && ids[before] == id;
        if (__syncthreads_or(seen)) return;
    }
    for (u64 at = threadIdx.x; at < width; at += blockDim.x) {
        float sum = load(table + (u64)id * width + at);
        for (u32 token = first; token < tokens; token++)
            if (ids[token] == id) sum = sum + load(dy + (u64)token * width + at);
        store(table + (u64)id * width + at, sum);
    }
}

KERNEL scatter_rows_f32(float *table, const bf16 *dy, const u32 *ids, u32 tokens, u64 table_rows, u64 width) {
    scatter(table, dy, ids, tokens, table_rows, width);
}

KERNEL scatter_rows_bf16(bf16 *table, const bf16 *dy, const u32 *ids, u32 tokens, u64 table_rows, u64 width) {
    scatter(table, dy, ids, tokens, table_rows, width);
}

// Row t goes to row rows[t]; no two go to the same one. A block for each row.
KERNEL place_rows(bf16 *to, const bf16 *from, const u32 *rows, u64 count, u64 width) {
    u64 row = rows[blockIdx.x];
    if (row >= count) return;
    for (u64 at = (u64)threadIdx.x * GROUP; at < width; at += (u64)blockDim.x * GROUP) {
        int end = width - at < GROUP ? (int)(width - at) : GROUP;
        float x[GROUP];
        load_group(x, from + blockIdx.x * width + at, end);
        store_group(to + row * width + at, x, end);
    }
}
