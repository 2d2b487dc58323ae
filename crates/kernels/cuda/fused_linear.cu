// The end of a product of few rows with an adapter.
//
// A product of [x] with [W; A] gave `product`, rows of `outputs + narrow` f32: sums over the inputs. Here
// u = bf16(s · its last `narrow` columns) is written right of x, and every sum of the others is continued
// with u·Bᵀ, 16 at a time: the bits of one sum over inputs and `narrow`. Then the residual is added, and the
// result is rounded once. B is zero where an output belongs to another adapter than a column of u: a sum is
// not continued there, for adding zeros changes no bit.
//
// These kernels take the time of their loads. A block has 64 rows, and some tiles of 32 columns (or 32 of the
// gate and the 32 that go through it) one after another: u is loaded once for all of them, and what the next
// tile needs is on its way while the present one is multiplied. Each of its eight warps has 16 rows and half
// of the columns. Shared memory: u, and 64 columns of B at a time.

// Rows and columns of a tile.
#define ROWS 64
#define COLUMNS 32

// What a tile's groups of 8 columns are: all side by side, or half of them of the gate and half of what goes
// through it, which lie `half` apart.
template <bool GATED> struct Columns {
    u32 first, half, outputs;
    __device__ __forceinline__ u32 at(int j) const { return GATED ? first + j % 4 * 8 + j / 4 * half : first + j * 8; }
    __device__ __forceinline__ bool there(int j) const { return first + j % 4 * 8 < (GATED ? half : outputs); }
    // Columns of u that so many columns of the gate, or of all, use, and what goes through it.
    __device__ __forceinline__ Range range(const Words &parts, int side, u32 count) const {
        const u32 begin = first + side * half, end = GATED && side == 0 ? half : outputs;
        return range_of(parts, begin, min(begin + count, end) - 1);
    }
};

__device__ __forceinline__ float as_bf16(float x) { return __uint_as_float((u32)rounded(x) << 16); }

__device__ __forceinline__ float gated(float gate, float up) {
    return swiglu(as_bf16(gate), as_bf16(up));
}

// Strides are those of y, the residual, the product and the weight; sizes are rows, outputs, narrow columns
// and the stride of x. Blocks go by strips of tiles, then by rows.
template <bool GATED>
__device__ __forceinline__ void continue_sums(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                              const Words &strides, const Words &sizes, const Words &parts, float scale) {
    // Groups of 8 columns of a tile, those of a warp, and sides that have columns of u of their own.
    constexpr int GROUPS = GATED ? COLUMNS / 4 : COLUMNS / 8, OWN = GROUPS / 2, SIDES = GATED ? 2 : 1;
    extern __shared__ __align__(16) bf16 shared_u[];
    __shared__ __align__(16) bf16 shared_b[GROUPS * 8 * PITCH];
    const u32 rows = (u32)sizes.at[0], outputs = (u32)sizes.at[1], narrow = (u32)sizes.at[2], half = outputs / 2;
    const u32 tiles = ((GATED ? half : outputs) + COLUMNS - 1) / COLUMNS;
    const u32 strips = gridDim.x / ((rows + ROWS - 1) / ROWS), each = (tiles + strips - 1) / strips;
    const u32 strip = blockIdx.x % strips, block_row = blockIdx.x / strips * ROWS;
    u32 tile = strip * each;
    const u32 end = min(tiles, tile + each);
    const u32 thread = threadIdx.x, lane = thread % 32, warp_row = thread / 32 % 4 * 16, group = lane / 4, pair = lane % 4 * 2;
    const u32 row[2] = {block_row + warp_row + group, block_row + warp_row + group + 8};
    // A warp's groups: two side by side, and with a gate the two that go through it.
    const int own_half = thread / 128 * 2;
    auto group_of = [&](int j) { return own_half + j % 2 + j / 2 * 4; };
    auto columns_of = [&](u32 tile) { return Columns<GATED>{tile * COLUMNS, half, outputs}; };
    auto sums_at = [&](u32 i, u32 column) {
        const u32 own = block_row + i * 16 + thread / 16;
        const bool there = own < rows && column < narrow;
        return there ? *(const float4 *)(product + own * strides.at[2] + outputs + column) : make_float4(0, 0, 0, 0);
    };
    // Columns of u of each side of a tile.
    Range ranges[SIDES], next_ranges[SIDES];
    auto find_ranges = [&](u32 tile) {
#pragma unroll
        for (int side = 0; side < SIDES; side++) next_ranges[side] = columns_of(tile).range(parts, side, COLUMNS);
    };
    // A thread's part of B: some rows, 8 columns each. With a gate, i is the side.
    uint4 weight[GROUPS / 4];
    auto load_weight = [&](u32 tile, u32 chunk) {
        const Columns<GATED> columns = columns_of(tile);
#pragma unroll
        for (int i = 0; i < GROUPS / 4; i++) {
            const int own = i * 32 + thread / 8, of = own / 8;
            const Range range = next_ranges[i];
            const u32 column = range.begin + chunk * DEPTH + thread % 8 * 8;
            const bf16 *from = b + (columns.at(of) + own % 8) * strides.at[3] + column;
            weight[i] = columns.there(of) && column < range.end ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
        }
    };
    float ahead[OWN][4], c[OWN][4];
    u32 beside_ahead[OWN][2], beside[OWN][2];
    auto load_sums = [&](u32 tile) {
        const Columns<GATED> columns = columns_of(tile);
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < OWN; j++) {
                const u32 column = columns.at(group_of(j)) + pair;
                const bool there = row[i] < rows && columns.there(group_of(j));
                const float2 two = there ? *(const float2 *)(product + row[i] * strides.at[2] + column) : make_float2(0.0f, 0.0f);
                ahead[j][2 * i] = two.x, ahead[j][2 * i + 1] = two.y;
                const bool added = !GATED && residual && there;
                beside_ahead[j][i] = added ? *(const u32 *)(residual + row[i] * strides.at[1] + column) : 0u;
            }
    };
    let_next_kernel_begin();
    if (tile >= end) return;
    find_ranges(tile);
    load_weight(tile, 0);
    wait_for_kernels_before();
    load_sums(tile);
    // The strips share in writing u: the first has its first 64 columns, and so on.
    constexpr bool WRITES_U = !GATED;
    float4 shared_part[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (WRITES_U) shared_part[i] = sums_at(i, strip * DEPTH + thread % 16 * 4);
    // The columns of u that this strip uses.
    Range used = {~0u, 0};
#pragma unroll
    for (int side = 0; side < SIDES; side++) {
        const Range range = columns_of(tile).range(parts, side, (end - tile) * COLUMNS);
        if (range.begin < range.end) used.begin = min(used.begin, range.begin), used.end = max(used.end, range.end);
    }
    const u32 pitch = used.begin < used.end ? used.end - used.begin + 8 : 8;
    for (u32 begin = used.begin; begin < used.end; begin += SIDES * DEPTH) {
        float4 x[SIDES][4];
#pragma unroll
        for (int h = 0; h < SIDES; h++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const u32 column = begin + h * DEPTH + thread % 16 * 4;
                x[h][i] = column < used.end ? sums_at(i, column) : make_float4(0, 0, 0, 0);
            }
#pragma unroll
        for (int h = 0; h < SIDES; h++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const u32 column = begin + h * DEPTH + thread % 16 * 4;
                bf16 *to = shared_u + (i * 16 + thread / 16) * pitch + column - used.begin;
                if (column < used.end) *(uint2 *)to = scaled_group(scale, x[h][i]);
            }
    }
    for (u32 column = strip * DEPTH + thread % 16 * 4; WRITES_U && column < narrow; column += strips * DEPTH)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u32 own = block_row + i * 16 + thread / 16;
            const float4 x = column < (strip + 1) * DEPTH ? shared_part[i] : sums_at(i, column);
            if (own < rows) *(uint2 *)(u + own * sizes.at[3] + column) = scaled_group(scale, x);
        }
    const u32 u_tile = shared_address(shared_u) + ((warp_row + lane % 16) * pitch + lane / 16 * 8) * 2;
    const u32 b_tile = shared_address(shared_b) + ((lane % 8 + lane / 16 * 8) * PITCH + lane / 8 % 2 * 8) * 2;
    for (u32 chunk = 0; tile < end;) {
        const Columns<GATED> columns = columns_of(tile);
        u32 chunks = 1;
#pragma unroll
        for (int side = 0; side < SIDES; side++) {
            ranges[side] = next_ranges[side];
            chunks = max(chunks, ranges[side].chunks());
        }
        if (tile > strip * each || chunk > 0) __syncthreads();
#pragma unroll
        for (int i = 0; i < GROUPS / 4; i++) *(uint4 *)(shared_b + (i * 32 + thread / 8) * PITCH + thread % 8 * 8) = weight[i];
        if (chunk == 0) {
#pragma unroll
            for (int j = 0; j < OWN; j++) {
#pragma unroll
                for (int i = 0; i < 4; i++) c[j][i] = ahead[j][i];
                beside[j][0] = beside_ahead[j][0], beside[j][1] = beside_ahead[j][1];
            }
        }
        __syncthreads();
        const bool is_last = chunk + 1 == chunks;
        const u32 next_tile = tile + is_last, next_chunk = is_last ? 0 : chunk + 1;
        if (next_tile < end) {
            if (is_last) find_ranges(next_tile);
            load_weight(next_tile, next_chunk);
            if (is_last) load_sums(next_tile);
        }
#pragma unroll
        for (int side = 0; side < SIDES; side++)
#pragma unroll
            for (int step = 0; step < DEPTH / 16; step++) {
                const u32 at = ranges[side].begin + chunk * DEPTH + step * 16;
                if (at >= ranges[side].end) break;
                u32 a[4], two[4];
                load_tiles(a, u_tile + (at - used.begin) * 2);
                load_tiles(two, b_tile + group_of(2 * side) * 8 * PITCH * 2 + step * 32);
                multiply_add(c[2 * side], a, two[0], two[1]);
                multiply_add(c[2 * side + 1], a, two[2], two[3]);
            }
        if (is_last) {
#pragma unroll
            for (int i = 0; i < 2; i++)
#pragma unroll
                for (int j = 0; j < 2; j++) {
                    if (row[i] >= rows || !columns.there(group_of(j))) continue;
                    float low = c[j][2 * i], high = c[j][2 * i + 1];
                    if (GATED) {
                        const float *up = c[(j + 2) % OWN];
                        low = gated(low, up[2 * i]), high = gated(high, up[2 * i + 1]);
                    } else if (residual) {
                        low += __uint_as_float(beside[j][i] << 16), high += __uint_as_float(beside[j][i] & 0xffff0000u);
                    }
                    *(u32 *)(y + row[i] * strides.at[0] + columns.at(group_of(j)) + pair) = rounded_pair(low, high);
                }
        }
        tile = next_tile, chunk = next_chunk;
    }
}

KERNEL_OF(256, 2) continue_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                   Words strides, Words sizes, Words parts, float scale) {
    continue_sums<false>(y, residual, product, b, u, strides, sizes, parts, scale);
}

// The outputs are a gate and what goes through it, each rounded to bf16; y is silu(gate) · up. u is not written:
// going forward without a way back nobody reads it.
KERNEL_OF(256, 3) continue_gated_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                         Words strides, Words sizes, Words parts, float scale) {
    continue_sums<true>(y, residual, product, b, u, strides, sizes, parts, scale);
}
