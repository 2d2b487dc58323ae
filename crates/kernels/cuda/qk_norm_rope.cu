// Norm and rotary position of query and key heads in one pass, values copied if asked for; and back, in place.
//
// Grid: a warp for some heads of a token, eight warps a block; all are loaded before one is waited for. No
// shared memory. Arithmetic is f32, results are rounded once.
//
// Heads of 64 and of 128 numbers have 8 or 16 lanes, a lane eight numbers side by side, so that a warp has
// several heads at once. Order of sums: a lane adds its numbers in their order, then lanes by halving
// distances. Other heads have a warp at a time; there a lane has two numbers of the first half of a head and
// their partners in the second, which it adds in the order of their places.

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
    return x;
}

__device__ __forceinline__ void load_pair(float *x, const bf16 *from) {
    u32 bits = *(const u32 *)from;
    x[0] = __uint_as_float(bits << 16), x[1] = __uint_as_float(bits & 0xffff0000u);
}

__device__ __forceinline__ void store_pair(bf16 *to, const float *x) { *(u32 *)to = rounded_pair(x[0], x[1]); }

// Some heads of a token, and a lane's places in each: two numbers from `at` on, and their partners.
template <int HEADS> struct Heads {
    u32 token, first, all, at, half;
    bool there, own;
    __device__ __forceinline__ Heads(const Placed &placed) {
        u64 index = (u64)blockIdx.x * 8 + threadIdx.x / 32;
        all = placed.all;
        u32 groups = (all + HEADS - 1) / HEADS;
        token = (u32)divided(index, groups), first = (u32)(index - (u64)token * groups) * HEADS;
        half = placed.size / 2, at = threadIdx.x % 32 * 2;
        there = token < placed.tokens, own = at < half;
    }
    __device__ __forceinline__ bool has(int h) const { return first + h < all; }
    __device__ __forceinline__ bool is_key(const Placed &placed, int h) const { return first + h >= placed.heads; }
    __device__ __forceinline__ bool is_value(const Placed &placed, int h) const {
        return first + h >= placed.heads + placed.kv_heads;
    }
    // A lane's four numbers of each head in a row.
    __device__ __forceinline__ void load(float (*x)[4], const bf16 *row, u32 size, u32 end) const {
#pragma unroll
        for (int h = 0; h < HEADS; h++) {
            const bf16 *from = row + (first + h) * size + at;
            if (own && first + h < end) load_pair(x[h], from), load_pair(x[h] + 2, from + half);
        }
    }
};

// Cosines and sines of a lane's two angles.
struct Turn {
    float c[2], s[2];
    template <int HEADS> __device__ __forceinline__ Turn(const Placed &placed, const Heads<HEADS> &heads, u32 position) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            u64 angle = (u64)(position < placed.known ? position : 0) * heads.half + heads.at + i;
            c[i] = heads.own ? placed.cosines[angle] : 0.0f, s[i] = heads.own ? placed.sines[angle] : 0.0f;
        }
    }
};

// 1/√(mean of squares + ε) of a head whose numbers the lanes hold.
__device__ __forceinline__ float scale_of(const float *x, bool own, const Placed &placed) {
    float sum = 0.0f;
    if (own)
        for (int i = 0; i < 4; i++) sum = fmaf(x[i], x[i], sum);
    return 1.0f / sqrtf(sum_of_warp(sum) / (float)placed.size + placed.epsilon);
}

// Two numbers of a key or value head into the slot of its token, if there is such a slot. Pages are those of
// keys, of values, how many there are, and slots; none where nothing is kept.
__device__ __forceinline__ void keep_pair(const Words &pages, const Placed &placed, u64 slot, u32 head, u32 place, const float *x) {
    bool is_value = head >= placed.heads + placed.kv_heads;
    u64 own = head - placed.heads - (is_value ? placed.kv_heads : 0);
    bf16 *to = (bf16 *)(is_value ? pages.at[1] : pages.at[0]);
    store_pair(to + (slot / 16 * placed.kv_heads + own) * 16 * placed.size + place_in_page(slot % 16, place, placed.size), x);
}

template <int HEADS>
__device__ __forceinline__ void place_heads(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, const Placed &placed,
                                            const Words &pages) {
    Heads<HEADS> heads(placed);
    let_next_kernel_begin();
    if (!heads.there) return;
    u32 position = placed.positions[heads.token];
    u64 slots = pages.at[2] * 16, slot = pages.at[3] ? ((const u32 *)pages.at[3])[heads.token] : slots;
    Turn turn(placed, heads, position);
    wait_for_kernels_before();
    float all[HEADS][4];
    heads.load(all, from + heads.token * from_stride, placed.size, heads.all);
    bf16 *row = to + heads.token * to_stride;
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        if (!heads.has(h)) break;
        float *x = all[h];
        if (!heads.is_value(placed, h)) {
            float r = scale_of(x, heads.own, placed);
            if (heads.own && position < placed.known) {
                const bf16 *gain = heads.is_key(placed, h) ? placed.k_gain : placed.q_gain;
                float g[4];
                load_pair(g, gain + heads.at), load_pair(g + 2, gain + heads.half + heads.at);
                for (int i = 0; i < 4; i++) x[i] = x[i] * r * g[i];
                for (int i = 0; i < 2; i++) {
                    float first = x[i], second = x[i + 2];
                    x[i] = first * turn.c[i] - second * turn.s[i];
                    x[i + 2] = second * turn.c[i] + first * turn.s[i];
                }
            }
        }
        if (!heads.own) continue;
        u32 head = heads.first + h, second = heads.half + heads.at;
        store_pair(row + head * placed.size + heads.at, x), store_pair(row + head * placed.size + second, x + 2);
        if (heads.is_key(placed, h) && slot < slots)
            keep_pair(pages, placed, slot, head, heads.at, x), keep_pair(pages, placed, slot, head, second, x + 2);
    }
}

KERNEL qk_norm_rope_forward(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes, float epsilon,
                            Words pages) {
    place_heads<4>(to, to_stride, from, from_stride, Placed(tables, gains, sizes, epsilon), pages);
}

KERNEL qk_norm_rope_forward_few(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes,
                                float epsilon, Words pages) {
    place_heads<1>(to, to_stride, from, from_stride, Placed(tables, gains, sizes, epsilon), pages);
}

// dx = r·z - x·r³·Σ(z·x)/d with z = the turned-back gradient times the gain. Values stay.
KERNEL qk_norm_rope_backward(bf16 *d, u64 d_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes, float epsilon, Words) {
    constexpr int HEADS = 4;
    Placed placed(tables, gains, sizes, epsilon);
    Heads<HEADS> heads(placed);
    if (!heads.there || heads.is_value(placed, 0)) return;
    u32 position = placed.positions[heads.token], values = placed.heads + placed.kv_heads;
    bf16 *row = d + heads.token * d_stride;
    float all_x[HEADS][4], all_z[HEADS][4];
    heads.load(all_x, from + heads.token * from_stride, placed.size, values);
    heads.load(all_z, row, placed.size, values);
    Turn turn(placed, heads, position);
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
        if (heads.is_value(placed, h)) break;
        float *x = all_x[h], *z = all_z[h];
        float r = scale_of(x, heads.own, placed), sum = 0.0f;
        if (heads.own) {
            const bf16 *gain = heads.is_key(placed, h) ? placed.k_gain : placed.q_gain;
            float g[4];
            load_pair(g, gain + heads.at), load_pair(g + 2, gain + heads.half + heads.at);
            for (int i = 0; i < 2; i++) {
                float first = z[i], second = z[i + 2];
                z[i] = (first * turn.c[i] + second * turn.s[i]) * g[i];
                z[i + 2] = (second * turn.c[i] - first * turn.s[i]) * g[i + 2];
            }
            for (int i = 0; i < 4; i++) sum = fmaf(z[i], x[i], sum);
        }
        float along = r * r * r * sum_of_warp(sum) / (float)placed.size;
        if (!heads.own) continue;
        for (int i = 0; i < 4; i++) z[i] = r * z[i] - x[i] * along;
        bf16 *own = row + (heads.first + h) * placed.size + heads.at;
        store_pair(own, z), store_pair(own + heads.half, z + 2);
    }
}

// With few tokens what does not depend on kernels before is loaded before they have ended.
template <int D, int PASSES>
__device__ __forceinline__ void place_whole_heads(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, const Placed &placed,
                                                  const Words &pages) {
    constexpr bool FEW = PASSES == 1;
    const WholeHeads<D, PASSES> heads(placed);
    let_next_kernel_begin();
    if (!heads.there) return;
    const u32 position = placed.positions[heads.token], all = placed.all;
    const u64 slot = pages.at[3] ? ((const u32 *)pages.at[3])[heads.token] : pages.at[2] * 16;
    float c[GROUP], s[GROUP];
    if (FEW) heads.turn(c, s, placed, position, !heads.is_second);
    wait_for_kernels_before();
    uint4 parts[PASSES];
    heads.load(parts, from + heads.token * from_stride, all);
    if (!FEW) heads.turn(c, s, placed, position, !heads.is_second);
    bf16 *row = to + heads.token * to_stride;
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        float g[GROUP];
        heads.gains(g, placed, pass);
        const uint4 part = heads.put_in_place(parts[pass], g, c, s, placed, position, pass);
        if (heads.head(pass) < all) heads.store(row, part, placed, pages, slot, pass);
    }
}

#define PLACE_WHOLE_HEADS(D, PASSES) \
    place_whole_heads<D, PASSES>(to, to_stride, from, from_stride, Placed(tables, gains, sizes, epsilon), pages)

KERNEL_OF(256, 4) qk_norm_rope_forward_64(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes,
                                          float epsilon, Words pages) {
    PLACE_WHOLE_HEADS(64, 4);
}

KERNEL_OF(256, 4) qk_norm_rope_forward_128(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains,
                                           Words sizes, float epsilon, Words pages) {
    PLACE_WHOLE_HEADS(128, 4);
}

KERNEL qk_norm_rope_forward_64_few(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes,
                                   float epsilon, Words pages) {
    PLACE_WHOLE_HEADS(64, 1);
}

KERNEL qk_norm_rope_forward_128_few(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes,
                                    float epsilon, Words pages) {
    PLACE_WHOLE_HEADS(128, 1);
}

// As in qk_norm_rope_backward.
template <int D>
__device__ __forceinline__ void whole_heads_back(bf16 *d, u64 d_stride, const bf16 *from, u64 from_stride, const Placed &placed) {
    constexpr int PASSES = 4;
    const WholeHeads<D, PASSES> heads(placed);
    const u32 values = placed.heads + placed.kv_heads;
    let_next_kernel_begin();
    wait_for_kernels_before();
    if (!heads.there) return;
    const u32 position = placed.positions[heads.token];
    bf16 *row = d + heads.token * d_stride;
    uint4 xs[PASSES], zs[PASSES];
    heads.load(xs, from + heads.token * from_stride, values);
    heads.load(zs, row, values);
    float c[GROUP], s[GROUP];
    heads.turn(c, s, placed, position, heads.is_second);
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        float x[GROUP], z[GROUP], g[GROUP];
        unpack_group(x, xs[pass]), unpack_group(z, zs[pass]);
        heads.gains(g, placed, pass);
        heads.back(z, x, g, c, s, placed);
        if (heads.head(pass) < values) store_group(row + heads.head(pass) * D + heads.at, z, GROUP);
    }
}

KERNEL_OF(256, 3) qk_norm_rope_backward_64(bf16 *d, u64 d_stride, const bf16 *from, u64 from_stride, Words tables, Words gains,
                                           Words sizes, float epsilon, Words) {
    whole_heads_back<64>(d, d_stride, from, from_stride, Placed(tables, gains, sizes, epsilon));
}

KERNEL_OF(256, 3) qk_norm_rope_backward_128(bf16 *d, u64 d_stride, const bf16 *from, u64 from_stride, Words tables, Words gains,
                                            Words sizes, float epsilon, Words) {
    whole_heads_back<128>(d, d_stride, from, from_stride, Placed(tables, gains, sizes, epsilon));
}
