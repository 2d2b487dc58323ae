// The end of a product of few rows with an adapter.
//
// A product of [x] with [W; A] gave `product`, rows of `outputs + narrow` f32: sums over the inputs. Here
// u = bf16(s · its last `narrow` columns) is written right of x, and every sum of the others is continued
// with u·Bᵀ, 16 at a time: the bits of one sum over inputs and `narrow`. Then the residual is added, and the
// result is rounded once.
//
// These kernels take the time of their loads: a block has 64 rows and 32 columns (or 32 of the gate and the
// 32 that go through it), so that u and B are loaded once for many sums, 16 bytes at a time, and the next 64
// columns of both are on their way while the present ones are multiplied. Each of its eight warps has 16
// rows and half of the columns.

struct Words {
    u64 at[4];
};

// Rows and columns of a block, columns of u and B in shared memory at a time, and numbers between their
// rows there, which lie in other banks for the 8 rows of a tile.
#define ROWS 64
#define COLUMNS 32
#define DEPTH 64
#define PITCH (DEPTH + 8)

// What a block's tiles of 8 columns are: all side by side, or half of them of the gate and half of what goes
// through it, which lie `half` apart.
template <bool GATED> struct Columns {
    u64 first, half, outputs;
    __device__ __forceinline__ u64 at(int j) const { return GATED ? first + j % 4 * 8 + j / 4 * half : first + j * 8; }
    __device__ __forceinline__ bool there(int j) const { return first + j % 4 * 8 < (GATED ? half : outputs); }
};

__device__ __forceinline__ float as_bf16(float x) { return __uint_as_float((u32)rounded(x) << 16); }

__device__ __forceinline__ float gated(float gate, float up) {
    gate = as_bf16(gate);
    return gate * sigmoid(gate) * as_bf16(up);
}

// What a thread loads of DEPTH columns: 4 rows of sums that u is made of, 4 columns each, and some rows of B,
// 8 columns each.
template <int TILES> struct Loaded {
    float4 a[4];
    uint4 b[TILES / 4];
};

// Strides are those of y, the residual, the product and the weight; sizes are rows, outputs, narrow columns
// and the stride of x. Blocks go by columns, then by rows; the first of a row of blocks writes u.
template <bool GATED>
__device__ __forceinline__ void continue_sums(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                              const Words &strides, const Words &sizes, float scale) {
    constexpr int TILES = GATED ? COLUMNS / 4 : COLUMNS / 8;
    __shared__ __align__(16) bf16 shared_u[ROWS * PITCH], shared_b[TILES * 8 * PITCH];
    const u64 rows = sizes.at[0], outputs = sizes.at[1], narrow = sizes.at[2], half = outputs / 2;
    const u64 across = ((GATED ? half : outputs) + COLUMNS - 1) / COLUMNS;
    const u64 block_row = blockIdx.x / across * ROWS;
    const Columns<GATED> columns = {blockIdx.x % across * COLUMNS, half, outputs};
    const u32 thread = threadIdx.x, lane = thread % 32, warp_row = thread / 32 % 4 * 16;
    // Its tiles: two side by side, and with a gate the two that go through it.
    const int own_half = thread / 128 * 2;
    auto tile_of = [&](int j) { return own_half + j % 2 + j / 2 * 4; };
    auto load_sums = [&](Loaded<TILES> &to, u64 begin) {
        const u64 column = begin + thread % 16 * 4;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u64 row = block_row + i * 16 + thread / 16;
            const bool there = row < rows && column < narrow;
            to.a[i] = there ? *(const float4 *)(product + row * strides.at[2] + outputs + column) : make_float4(0, 0, 0, 0);
        }
    };
    auto load_weight = [&](Loaded<TILES> &to, u64 begin) {
        const u64 column = begin + thread % 8 * 8;
#pragma unroll
        for (int i = 0; i < TILES / 4; i++) {
            const int own = i * 32 + thread / 8, tile = own / 8;
            const bool there = columns.there(tile) && column < narrow;
            const bf16 *from = b + (columns.at(tile) + own % 8) * strides.at[3] + column;
            to.b[i] = there ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
        }
    };
    Loaded<TILES> now, next;
    let_next_kernel_begin();
    load_weight(now, 0);
    load_weight(next, DEPTH);
    wait_for_kernels_before();
    load_sums(now, 0);
    load_sums(next, DEPTH);
    const u32 group = lane / 4, pair = lane % 4 * 2;
    const u64 row[2] = {block_row + warp_row + group, block_row + warp_row + group + 8};
    float c[TILES / 2][4];
    u32 old[TILES / 2][2];
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < TILES / 2; j++) {
            const u64 column = columns.at(tile_of(j)) + pair;
            const bool there = row[i] < rows && columns.there(tile_of(j));
            const float *from = product + row[i] * strides.at[2] + column;
            float2 two = there ? *(const float2 *)from : make_float2(0.0f, 0.0f);
            c[j][2 * i] = two.x, c[j][2 * i + 1] = two.y;
            const bf16 *beside = residual + row[i] * strides.at[1] + column;
            old[j][i] = !GATED && residual && there ? *(const u32 *)beside : 0u;
        }
    const u32 u_tile = shared_address(shared_u) + ((warp_row + lane % 16) * PITCH + lane / 16 * 8) * 2;
    const u32 b_tile = shared_address(shared_b) + ((lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8) * 2;
    for (u64 begin = 0; begin < narrow; begin += DEPTH) {
        if (begin > 0) __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u32 own = i * 16 + thread / 16, column = thread % 16 * 4;
            const float4 x = now.a[i];
            const uint2 four = make_uint2(rounded_pair(scale * x.x, scale * x.y), rounded_pair(scale * x.z, scale * x.w));
            *(uint2 *)(shared_u + own * PITCH + column) = four;
            const bool written = columns.first == 0 && block_row + own < rows && begin + column < narrow;
            if (written) *(uint2 *)(u + (block_row + own) * sizes.at[3] + begin + column) = four;
        }
#pragma unroll
        for (int i = 0; i < TILES / 4; i++) *(uint4 *)(shared_b + (i * 32 + thread / 8) * PITCH + thread % 8 * 8) = now.b[i];
        __syncthreads();
        now = next;
        load_weight(next, begin + 2 * DEPTH);
        load_sums(next, begin + 2 * DEPTH);
#pragma unroll
        for (int step = 0; step < DEPTH / 16; step++) {
            if (begin + step * 16 >= narrow) break;
            u32 a[4];
            load_tiles(a, u_tile + step * 32);
#pragma unroll
            for (int j = 0; j < TILES / 2; j += 2) {
                u32 two[4];
                load_tiles(two, b_tile + tile_of(j) * 8 * PITCH * 2 + step * 32);
                multiply_add(c[j], a, two[0], two[1]);
                multiply_add(c[j + 1], a, two[2], two[3]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            if (row[i] >= rows || !columns.there(tile_of(j))) continue;
            float low = c[j][2 * i], high = c[j][2 * i + 1];
            if (GATED) {
                const float *up = c[(j + 2) % (TILES / 2)];
                low = gated(low, up[2 * i]), high = gated(high, up[2 * i + 1]);
            } else if (residual) {
                low += __uint_as_float(old[j][i] << 16), high += __uint_as_float(old[j][i] & 0xffff0000u);
            }
            *(u32 *)(y + row[i] * strides.at[0] + columns.at(tile_of(j)) + pair) = rounded_pair(low, high);
        }
}

KERNEL_OF(256, 2) continue_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                   Words strides, Words sizes, float scale) {
    continue_sums<false>(y, residual, product, b, u, strides, sizes, scale);
}

// The outputs are a gate and what goes through it, each rounded to bf16; y is silu(gate) · up.
KERNEL_OF(256, 2) continue_gated_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                         Words strides, Words sizes, float scale) {
    continue_sums<true>(y, residual, product, b, u, strides, sizes, scale);
}
