// The end of a product of few rows that gives queries, keys and values with an adapter: `continue_product` of
// `fused_linear.cu` and then `qk_norm_rope.cu`, with the bits of both, in one pass.
//
// A block has 16 or 32 rows and 128 columns: one head of 128 numbers, or two of 64. Its eight warps continue the sums of
// 16 columns each; then 16 lanes have a row. What does not depend on the product is loaded before that has ended. u is
// not written: going forward without a way back nobody reads it.

#define COLUMNS 128
#define SHARED_PITCH (COLUMNS + 8)

// Sums are the product's stride, the weight's, and how many outputs there are, behind which the sums of u lie.
template <int D, int TILES>
__device__ __forceinline__ void continue_heads(bf16 *to, u64 to_stride, const float *product, const bf16 *b, const Words &sums, const Words &parts,
                                               float scale, const Placed &placed, const Words &pages) {
    constexpr int ROWS = 16 * TILES;
    using OneHead = WholeHeads<D, 1>;
    __shared__ __align__(16) bf16 shared_b[COLUMNS * PITCH], shared_u[ROWS * PITCH], shared_y[ROWS * SHARED_PITCH];
    const u32 strips = (u32)sums.at[2] / COLUMNS, first = blockIdx.x % strips * COLUMNS, block_row = blockIdx.x / strips * ROWS;
    const u32 thread = threadIdx.x, lane = thread % 32, warp_column = thread / 32 * 16;
    const Range range = range_of(parts, first, first + COLUMNS - 1);
    auto load_weight = [&](u32 begin) {
        const u32 column = begin + thread % 8 * 8, to = shared_address(shared_b + thread / 8 * PITCH + thread % 8 * 8);
        const bf16 *from = b + (u64)(first + thread / 8) * sums.at[1] + column;
#pragma unroll
        for (int i = 0; i < 4; i++) copy_16_bytes(to + i * 32 * PITCH * 2, column < range.end ? from + i * 32 * sums.at[1] : b, column < range.end);
        asm volatile("cp.async.commit_group;");
    };
    // A thread's rows, and their part that it places.
    auto heads_of = [&](int tile) { return OneHead(placed, block_row + tile * 16 + thread / 16, first / D + thread % 16 / OneHead::LANES); };
    let_next_kernel_begin();
    load_weight(range.begin);
    // A row that is not there has no slot.
    u32 position[TILES], slot[TILES];
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        const OneHead heads = heads_of(tile);
        position[tile] = heads.there ? placed.positions[heads.token] : 0;
        slot[tile] = heads.there ? ((const u32 *)pages.at[3])[heads.token] : ~0u;
    }
    wait_for_kernels_before();
    float sum[TILES][2][4];
#pragma unroll
    for (int half = 0; half < 2 * TILES; half++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const u32 row = block_row + lane / 4 + half * 8, column = first + warp_column + j * 8 + lane % 4 * 2;
            const float2 two = row < placed.tokens ? *(const float2 *)(product + row * sums.at[0] + column) : make_float2(0.0f, 0.0f);
            float *own = sum[half / 2][j] + half % 2 * 2;
            own[0] = two.x, own[1] = two.y;
        }
    const u32 u_tile = shared_address(shared_u) + (lane % 16 * PITCH + lane / 16 * 8) * 2;
    const u32 b_tile = shared_address(shared_b) + ((warp_column + lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8) * 2;
    float c[TILES][GROUP], s[TILES][GROUP], g[GROUP];
    u32 begin = range.begin;
    do {
        const u32 column = begin + thread % 16 * 4;
        float4 x[TILES];
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const OneHead heads = heads_of(tile);
            const float *from = product + heads.token * sums.at[0] + sums.at[2] + column;
            x[tile] = heads.there && column < range.end ? *(const float4 *)from : make_float4(0, 0, 0, 0);
        }
        if (begin == range.begin) {
            // On their way while sums are continued.
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) heads_of(tile).turn(c[tile], s[tile], placed, position[tile], !heads_of(tile).is_second);
            heads_of(0).gains(g, placed, 0);
        } else {
            __syncthreads();
            load_weight(begin);
        }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
            *(uint2 *)(shared_u + (tile * 16 + thread / 16) * PITCH + thread % 16 * 4) = scaled_group(scale, x[tile]);
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
#pragma unroll
        for (int step = 0; step < DEPTH / 16; step++) {
            if (begin + step * 16 >= range.end) break;
            u32 a[4], two[4];
            load_tiles(two, b_tile + step * 32);
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                load_tiles(a, u_tile + tile * 16 * PITCH * 2 + step * 32);
                multiply_add(sum[tile][0], a, two[0], two[1]);
                multiply_add(sum[tile][1], a, two[2], two[3]);
            }
        }
        begin += DEPTH;
    } while (begin < range.end);
#pragma unroll
    for (int half = 0; half < 2 * TILES; half++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const float *own = sum[half / 2][j] + half % 2 * 2;
            *(u32 *)(shared_y + (lane / 4 + half * 8) * SHARED_PITCH + warp_column + j * 8 + lane % 4 * 2) = rounded_pair(own[0], own[1]);
        }
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        const OneHead heads = heads_of(tile);
        const uint4 own = *(const uint4 *)(shared_y + (tile * 16 + thread / 16) * SHARED_PITCH + thread % 16 * GROUP);
        const uint4 part = heads.put_in_place(own, g, c[tile], s[tile], placed, position[tile], 0);
        if (heads.there) heads.store(to + heads.token * to_stride, part, placed, pages, slot[tile], 0);
    }
}

#define CONTINUE_HEADS(D, TILES) continue_heads<D, TILES>(to, to_stride, product, b, sums, parts, scale, Placed(tables, gains, sizes, epsilon), pages)

KERNEL_OF(256, 4) continue_heads_64(bf16 *to, u64 to_stride, const float *product, const bf16 *b, Words sums, Words parts, float scale, Words tables,
                                    Words gains, Words sizes, float epsilon, Words pages) {
    CONTINUE_HEADS(64, 1);
}

KERNEL_OF(256, 4) continue_heads_128(bf16 *to, u64 to_stride, const float *product, const bf16 *b, Words sums, Words parts, float scale, Words tables,
                                     Words gains, Words sizes, float epsilon, Words pages) {
    CONTINUE_HEADS(128, 1);
}

// For so many rows that a half of the blocks fill the chip.
KERNEL_OF(256, 2) continue_heads_64_many(bf16 *to, u64 to_stride, const float *product, const bf16 *b, Words sums, Words parts, float scale,
                                         Words tables, Words gains, Words sizes, float epsilon, Words pages) {
    CONTINUE_HEADS(64, 2);
}

KERNEL_OF(256, 2) continue_heads_128_many(bf16 *to, u64 to_stride, const float *product, const bf16 *b, Words sums, Words parts, float scale,
                                          Words tables, Words gains, Words sizes, float epsilon, Words pages) {
    CONTINUE_HEADS(128, 2);
}
