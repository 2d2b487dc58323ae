// A product in the one order of accumulation: f32, from the first to the last k, 16 at a time, as the
// tensor core does it. What a library computes is compared with this; where no algorithm of a
// library keeps the order or takes the shape, this computes. It is not fast.

struct Layout {
    u64 rows, cols, inner, to_stride;
};

// Where a number of an operand lies: outer · outer_stride + k · k_stride.
struct Operand {
    u64 outer_stride, k_stride, outer, unused;
};

__device__ __forceinline__ u32 pair_of(const bf16 *from, Operand at, u64 outer, u64 k, u64 inner) {
    u32 low = outer < at.outer && k < inner ? from[outer * at.outer_stride + k * at.k_stride] : 0;
    u32 high = outer < at.outer && k + 1 < inner ? from[outer * at.outer_stride + (k + 1) * at.k_stride] : 0;
    return low | high << 16;
}

__device__ __forceinline__ void put(void *to, u32 is_bf16, Layout shape, u64 row, u64 col, float x, float scale, float kept) {
    if (row >= shape.rows || col >= shape.cols) return;
    u64 at = row * shape.to_stride + col;
    x = scale * x;
    if (is_bf16) {
        bf16 *place = (bf16 *)to + at;
        store(place, kept != 0.0f ? x + kept * load(place) : x);
    } else {
        float *place = (float *)to + at;
        *place = kept != 0.0f ? x + kept * *place : x;
    }
}

KERNEL product_in_order(void *to, u32 is_bf16, Layout shape, const bf16 *a, Operand a_at, const bf16 *b,
                        Operand b_at, float scale, float kept) {
    u64 tiles_across = (shape.cols + 7) / 8, tiles = tiles_across * ((shape.rows + 15) / 16);
    u32 lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
    u64 warps = (u64)gridDim.x * (blockDim.x / 32);
    for (u64 tile = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32; tile < tiles; tile += warps) {
        u64 row = tile / tiles_across * 16 + group, col = tile % tiles_across * 8;
        float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
        for (u64 k = 0; k < shape.inner; k += 16) {
            u32 a0 = pair_of(a, a_at, row, k + pair, shape.inner);
            u32 a1 = pair_of(a, a_at, row + 8, k + pair, shape.inner);
            u32 a2 = pair_of(a, a_at, row, k + pair + 8, shape.inner);
            u32 a3 = pair_of(a, a_at, row + 8, k + pair + 8, shape.inner);
            u32 b0 = pair_of(b, b_at, col + group, k + pair, shape.inner);
            u32 b1 = pair_of(b, b_at, col + group, k + pair + 8, shape.inner);
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                         : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
        put(to, is_bf16, shape, row, col + pair, c0, scale, kept);
        put(to, is_bf16, shape, row, col + pair + 1, c1, scale, kept);
        put(to, is_bf16, shape, row + 8, col + pair, c2, scale, kept);
        put(to, is_bf16, shape, row + 8, col + pair + 1, c3, scale, kept);
    }
}

// What is in `to`, and a product in f32: added, then rounded once. One block a row.
KERNEL add_product(bf16 *to, u64 to_stride, const float *product, u64 product_stride, u64 rows, u64 cols) {
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x)
        for (u64 col = threadIdx.x * GROUP; col < cols; col += blockDim.x * GROUP) {
            int count = min((u64)GROUP, cols - col);
            float old[GROUP], x[GROUP];
            bf16 *place = to + row * to_stride + col;
            load_group(old, place, count);
            load_group(x, product + row * product_stride + col, count);
#pragma unroll
            for (int i = 0; i < GROUP; i++) x[i] += old[i];
            store_group(place, x, count);
        }
}

// How many numbers of y have other bits than the reference, as f32 or rounded to bf16.
KERNEL count_differences_f32(u32 *found, const float *reference, const float *y, u64 count) {
    u32 own = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x)
        own += __float_as_uint(reference[at]) != __float_as_uint(y[at]);
    if (own) atomicAdd(found, own);
}

KERNEL count_differences_bf16(u32 *found, const float *reference, const bf16 *y, u64 count) {
    u32 own = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x)
        own += rounded(reference[at]) != y[at];
    if (own) atomicAdd(found, own);
}

// An operand whose second half along k repeats the first, or its negative; what is left over is zero.
// k runs along a row of `stride` numbers, or across rows. A half of 0 is no repetition.
struct Mirror {
    u64 half, stride, along, negative;
};

// Numbers between -1 and 1 to compare on, which bf16 can hold: a hash of the place.
KERNEL noise(void *to, u32 is_bf16, u32 seed, u64 begin, u64 count, Mirror mirror) {
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += (u64)gridDim.x * blockDim.x) {
        u64 place = begin + at;
        float sign = 1.0f;
        if (mirror.half) {
            u64 k = mirror.along ? place % mirror.stride : place / mirror.stride;
            if (k >= 2 * mirror.half) sign = 0.0f;
            else if (k >= mirror.half) {
                place -= mirror.along ? mirror.half : mirror.half * mirror.stride;
                if (mirror.negative) sign = -1.0f;
            }
        }
        u32 h = (u32)place * 2654435761u ^ (u32)(place >> 32) ^ seed * 0x9e3779b9u;
        h ^= h >> 16, h *= 0x85ebca6bu, h ^= h >> 13, h *= 0xc2b2ae35u, h ^= h >> 16;
        bf16 bits = rounded(sign * ((float)(h >> 8) * (1.0f / 8388608.0f) - 1.0f));
        if (is_bf16) ((bf16 *)to)[at] = bits;
        else store((float *)to + at, load(&bits));
    }
}
