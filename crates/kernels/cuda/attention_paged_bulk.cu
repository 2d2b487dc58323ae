// Attention of single rows to pages on Hopper: heads of 64 or 128 numbers, at most 8 of which share their keys.
// `attention.cuh` and `barriers.cuh` are in front; bits are those of `attention_paged.cu`.
//
// As many blocks as there is room for take pairs of a row and a head of keys in turn. One warp of a block
// loads: a page of a head is one piece of memory and one copy. It is ahead of the other four by up to three
// items, blocks of 64 keys or values, across the ends of rows, so that memory is always asked for something.
// The four warps compute as in `attention_paged.cu`. Shared memory: the ring of items, scores of two blocks,
// barriers.

#define STAGES 3
#define COMPUTING 4
#define NO_PAGE 0xffffffffu

#if __CUDA_ARCH__ >= 900

// The ring. An item's place and its phase follow from its number.
template <int D> struct Ring {
    u32 buffers, full, empty;
    static constexpr u32 BYTES = KEYS * D * 2;
    __device__ __forceinline__ u32 at(u32 item) const { return buffers + item % STAGES * BYTES; }
    __device__ __forceinline__ u32 full_at(u32 item) const { return full + item % STAGES * 8; }
    __device__ __forceinline__ void wait_for(u32 item) const { barrier_wait(full_at(item), item / STAGES & 1); }
    __device__ __forceinline__ void wait_for_room(u32 item) const {
        if (item >= STAGES) barrier_wait(empty + item % STAGES * 8, (item / STAGES - 1) & 1);
    }
    // By every warp that computes, when it has read the item.
    __device__ __forceinline__ void give_back(u32 item) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) barrier_arrive(empty + item % STAGES * 8);
    }
};

__device__ __forceinline__ void put_zeros(u32 from, u32 to) {
    for (u32 at = from + threadIdx.x % 32 * 16; at < to; at += 32 * 16)
        asm volatile("st.shared.v4.b32 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(0) : "memory");
}

// The warp that loads. Lanes 0 to 3 have a page of each block of keys. A page that is not there is zeros, and so
// are values behind the end of a row in its last page: their weights are zero, but they may be no numbers.
template <int D>
__device__ __forceinline__ void load_pages(const Ring<D> &ring, u32 works, const Pages &pages, const Tables &tables, u32 kv_heads) {
    constexpr u32 TOKEN = D * 2, PAGE = 16 * TOKEN;
    const u32 lane = threadIdx.x % 32;
    bool waited = false;
    u32 item = 0;
    for (u32 work = blockIdx.x; work < works; work += gridDim.x) {
        const u32 row = work / kv_heads, head = work % kv_heads, start = tables.starts[row];
        const int length = tables.lengths[row], blocks = (length + KEYS - 1) / KEYS;
        const u32 listed = start < tables.listed ? (u32)tables.listed - start : 0;
        u32 page = NO_PAGE;
        for (int block = 0; block < blocks; block++) {
            if (block % 8 == 0) {
                const u32 at = block * 4 + lane;
                page = at < listed && (int)at * 16 < length ? tables.pages[start + at] : NO_PAGE;
            }
            const u32 own = __shfl_sync(~0u, page, block % 8 * 4 + lane % 4);
            const int left = length - (block * KEYS + (int)lane * 16);
            const u32 seen = lane < 4 && left > 0 ? min(left, 16) * TOKEN : 0, bytes = own < pages.count ? seen : 0;
            const u32 all = __reduce_add_sync(~0u, bytes);
            const bool is_whole = __all_sync(~0u, bytes == seen && seen % PAGE == 0);
            // The newest token may be on its way; the others were there before.
            if (!waited && !(pages.only_last_is_new && (block + 1) * KEYS < length)) {
                wait_for_kernels_before();
                asm volatile("fence.proxy.async.global;" ::: "memory");
                waited = true;
            }
#pragma unroll
            for (int of_values = 0; of_values < 2; of_values++, item++) {
                const u32 to = ring.at(item);
                ring.wait_for_room(item);
                if (!is_whole) {
                    for (u32 i = 0; i < 4; i++) {
                        const u32 own_seen = __shfl_sync(~0u, seen, i), loaded = __shfl_sync(~0u, bytes, i);
                        if (loaded < own_seen || (of_values && own_seen > 0)) put_zeros(to + i * PAGE + loaded, to + (i + 1) * PAGE);
                    }
                    before_copies();
                }
                if (lane == 0) barrier_expect(ring.full_at(item), all);
                __syncwarp();
                const bf16 *from = (of_values ? pages.values : pages.keys) + ((u64)own * kv_heads + head) * 16 * D;
                if (bytes) copy_bytes_once(to + lane * PAGE, from, bytes, ring.full_at(item));
            }
        }
    }
}

// The warps that compute.
template <int D>
__device__ __forceinline__ void attend_to_items(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, const Ring<D> &ring, float *scores,
                                                u32 works, const Tables &tables, const Heads &shape, float scale) {
    const u32 kv_heads = (u32)shape.kv_heads, shared_by = (u32)shape.heads / kv_heads;
    const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    u32 item = 0;
    wait_for_kernels_before();
    for (u32 work = blockIdx.x; work < works; work += gridDim.x) {
        const u32 row = work / kv_heads, first = work % kv_heads * shared_by;
        const int length = tables.lengths[row], blocks = (length + KEYS - 1) / KEYS;
        const bool there = group < shared_by;
        const Rows rows = {{there ? qkv + row * stride + (first + group) * D : 0, 0}, {there ? length : 0, 0}};
        u32 query[D / 16][4];
        load_queries<D>(query, rows, D);
        Attended<D / COMPUTING> sums;
        begin_sums(sums);
        for (int block = 0; block < blocks; block++, item += 2) {
            float own[2][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}}, c[8][4] = {};
            // Scores of the block before may still be read.
            float *to = scores + (item / 2 % 2 * 8 + group) * SCORES + pair;
            const int seen = length - block * KEYS;
            ring.wait_for(item);
            if (warp * 16 < seen) {
#pragma unroll
                for (int k = 0; k < D / 16; k++) score_16_keys<D>(own, ring.at(item), warp * 16, query, k);
            }
            ring.give_back(item);
#pragma unroll
            for (int j = 0; j < 2; j++) *(float2 *)(to + warp * 16 + j * 8) = make_float2(own[j][0], own[j][1]);
            asm volatile("bar.sync 1, %0;" ::"n"(COMPUTING * 32) : "memory");
#pragma unroll
            for (int j = 0; j < 8; j++) {
                float2 two = *(const float2 *)(to + j * 8);
                c[j][0] = two.x, c[j][1] = two.y;
            }
            u32 weights[8][2];
            float factor[2];
            weigh(weights, factor, sums.top, c, rows, block * KEYS, scale, false);
            ring.wait_for(item + 1);
            add_values<D, D / COMPUTING>(sums, ring.at(item + 1), weights, factor, warp * (D / COMPUTING), seen);
            ring.give_back(item + 1);
        }
        if (there) put_row<D / COMPUTING>(out + row * out_stride + (first + group) * D, sums, 0, warp * (D / COMPUTING), D);
    }
}

#endif

template <int D>
__device__ __forceinline__ void attend_to_pages_in_turn(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, const Pages &pages,
                                                        const Tables &tables, const Heads &shape, float scale, u32 rows) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char space[];
    float *scores = (float *)(space + STAGES * KEYS * D * 2);
    const u32 barriers = shared_address(scores + 2 * 8 * SCORES);
    const Ring<D> ring = {shared_address(space), barriers, barriers + STAGES * 8};
    const u32 works = rows * (u32)shape.kv_heads;
    let_next_kernel_begin();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) barrier_init(ring.full + i * 8, 1), barrier_init(ring.empty + i * 8, COMPUTING);
        barriers_are_ready();
    }
    __syncthreads();
    if (threadIdx.x / 32 == COMPUTING) load_pages<D>(ring, works, pages, tables, (u32)shape.kv_heads);
    else attend_to_items<D>(out, out_stride, qkv, stride, ring, scores, works, tables, shape, scale);
#endif
}

KERNEL_OF(160, 4) attention_paged_bulk_64(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
                                       Heads shape, float scale, u32 rows) {
    attend_to_pages_in_turn<64>(out, out_stride, qkv, stride, pages, tables, shape, scale, rows);
}

KERNEL_OF(160, 4) attention_paged_bulk_128(bf16 *out, u64 out_stride, const bf16 *qkv, u64 stride, Pages pages, Tables tables,
                                        Heads shape, float scale, u32 rows) {
    attend_to_pages_in_turn<128>(out, out_stride, qkv, stride, pages, tables, shape, scale, rows);
}
