// The end of a product of few rows with an adapter.
//
// A product of [x] with [W; A] gave `product`, rows of `outputs + narrow` f32: sums over the inputs. Here
// u = bf16(s · its last `narrow` columns) is written right of x, and every sum of the others is continued
// with u·Bᵀ, 16 at a time: the bits of one sum over inputs and `narrow`. Then the residual is added, and the
// result is rounded once.

struct Words {
    u64 at[4];
};

// Columns of a warp's tile of 16 rows.
#define COLUMNS 32

__device__ __forceinline__ u32 narrow_pair(const float *from, bool there, float scale) {
    if (!there) return 0u;
    float2 two = *(const float2 *)from;
    return rounded_pair(scale * two.x, scale * two.y);
}

// What a warp's tile of columns is: 32 side by side, or 16 of the gate and the 16 of what goes through it,
// which lie `half` apart.
template <bool GATED> struct Columns {
    u64 first, half, outputs;
    __device__ __forceinline__ u64 at(int j) const { return GATED ? first + j % 2 * 8 + j / 2 * half : first + j * 8; }
    __device__ __forceinline__ bool there(int j) const { return GATED ? first + j % 2 * 8 < half : first + j * 8 < outputs; }
};

__device__ __forceinline__ float as_bf16(float x) { return __uint_as_float((u32)rounded(x) << 16); }

__device__ __forceinline__ float gated(float gate, float up) {
    gate = as_bf16(gate);
    return gate * sigmoid(gate) * as_bf16(up);
}

// Strides are those of y, the residual, the product and the weight; sizes are rows, outputs, narrow columns
// and the stride of x. A warp for each tile, row by row of tiles.
template <bool GATED>
__device__ __forceinline__ void continue_sums(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                              const Words &strides, const Words &sizes, float scale) {
    const u64 rows = sizes.at[0], outputs = sizes.at[1], narrow = sizes.at[2], half = outputs / 2;
    const u64 wide = GATED ? COLUMNS / 2 : COLUMNS, across = ((GATED ? half : outputs) + wide - 1) / wide;
    const u64 tile = (u64)blockIdx.x * 8 + threadIdx.x / 32, first_row = tile / across * 16;
    if (first_row >= rows) return;
    const Columns<GATED> columns = {tile % across * wide, half, outputs};
    const u32 group = threadIdx.x % 32 / 4, pair = threadIdx.x % 4 * 2;
    const u64 row[2] = {first_row + group, first_row + group + 8};
    const bool there[2] = {row[0] < rows, row[1] < rows};
    const float *from[2];
    float c[COLUMNS / 8][4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        from[i] = product + (there[i] ? row[i] : 0) * strides.at[2];
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; j++) {
            float2 two = make_float2(0.0f, 0.0f);
            if (there[i] && columns.there(j)) two = *(const float2 *)(from[i] + columns.at(j) + pair);
            c[j][2 * i] = two.x, c[j][2 * i + 1] = two.y;
        }
    }
#pragma unroll 4
    for (u64 k = 0; k < narrow; k += 16) {
        u32 a[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            u64 column = k + pair + i / 2 * 8;
            a[i] = narrow_pair(from[i % 2] + outputs + column, there[i % 2], scale);
            if (columns.first == 0 && there[i % 2]) *(u32 *)(u + row[i % 2] * sizes.at[3] + column) = a[i];
        }
#pragma unroll
        for (int j = 0; j < COLUMNS / 8; j++) {
            const bf16 *own = b + (columns.at(j) + group) * strides.at[3] + k + pair;
            u32 b0 = columns.there(j) ? *(const u32 *)own : 0u;
            u32 b1 = columns.there(j) ? *(const u32 *)(own + 8) : 0u;
            multiply_add(c[j], a, b0, b1);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < (GATED ? COLUMNS / 16 : COLUMNS / 8); j++) {
            if (!there[i] || !columns.there(j)) continue;
            float low = c[j][2 * i], high = c[j][2 * i + 1];
            if (GATED) {
                const float *up = c[COLUMNS / 16 + j];
                low = gated(low, up[2 * i]), high = gated(high, up[2 * i + 1]);
            } else if (residual) {
                u32 old = *(const u32 *)(residual + row[i] * strides.at[1] + columns.at(j) + pair);
                low += __uint_as_float(old << 16), high += __uint_as_float(old & 0xffff0000u);
            }
            *(u32 *)(y + row[i] * strides.at[0] + columns.at(j) + pair) = rounded_pair(low, high);
        }
}

KERNEL_OF(256, 1) continue_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                   Words strides, Words sizes, float scale) {
    continue_sums<false>(y, residual, product, b, u, strides, sizes, scale);
}

// The outputs are a gate and what goes through it, each rounded to bf16; y is silu(gate) · up.
KERNEL_OF(256, 1) continue_gated_product(bf16 *y, const bf16 *residual, const float *product, const bf16 *b, bf16 *u,
                                         Words strides, Words sizes, float scale) {
    continue_sums<true>(y, residual, product, b, u, strides, sizes, scale);
}
