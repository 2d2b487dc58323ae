// Norm and rotary position of query and key heads in one pass, values copied; and back, in place.
//
// Grid: a warp for each head of each token, eight warps a block. No shared memory. Order of sums: a
// lane adds its numbers in the order of their places, two of the first half of a head and their
// partners in the second, then lanes by halving distances. Arithmetic is f32, results are rounded once.

struct Words {
    u64 at[4];
};

struct Placed {
    const float *cosines, *sines;
    const u32 *positions;
    const bf16 *q_gain, *k_gain;
    u32 known, tokens, heads, kv_heads, size;
    float epsilon;
    // Tables are cosines, sines, positions and how many positions are known; gains those of queries and
    // of keys; sizes tokens, heads, heads of keys and numbers of a head.
    __device__ __forceinline__ Placed(const Words &tables, const Words &gains, const Words &sizes, float epsilon)
        : cosines((const float *)tables.at[0]), sines((const float *)tables.at[1]), positions((const u32 *)tables.at[2]),
          q_gain((const bf16 *)gains.at[0]), k_gain((const bf16 *)gains.at[1]), known((u32)tables.at[3]), tokens((u32)sizes.at[0]),
          heads((u32)sizes.at[1]), kv_heads((u32)sizes.at[2]), size((u32)sizes.at[3]), epsilon(epsilon) {}
};

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

// A head of a token, and a lane's places in it: two numbers from `at` on, and their partners.
struct Head {
    u32 token, head, at, half;
    bool there, is_value, is_key;
    __device__ __forceinline__ Head(const Placed &placed) {
        u64 index = (u64)blockIdx.x * 8 + threadIdx.x / 32;
        u32 all = placed.heads + 2 * placed.kv_heads;
        token = (u32)(index / all), head = (u32)(index % all);
        half = placed.size / 2, at = threadIdx.x % 32 * 2;
        is_key = head >= placed.heads, is_value = head >= placed.heads + placed.kv_heads;
        there = token < placed.tokens;
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
__device__ __forceinline__ void keep_pair(const Words &pages, const Placed &placed, const Head &head, u32 place, const float *x) {
    u64 slot = ((const u32 *)pages.at[3])[head.token];
    if (slot >= pages.at[2] * 16) return;
    u64 own = head.head - placed.heads - (head.is_value ? placed.kv_heads : 0);
    bf16 *to = (bf16 *)pages.at[head.is_value ? 1 : 0];
    store_pair(to + ((slot / 16 * placed.kv_heads + own) * 16 + slot % 16) * placed.size + place, x);
}

KERNEL qk_norm_rope_forward(bf16 *to, u64 to_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes, float epsilon,
                            Words pages) {
    Placed placed(tables, gains, sizes, epsilon);
    Head head(placed);
    if (!head.there) return;
    const bf16 *x_head = from + head.token * from_stride + head.head * placed.size;
    bf16 *y_head = to + head.token * to_stride + head.head * placed.size;
    bool own = head.at < head.half;
    float x[4];
    if (own) load_pair(x, x_head + head.at), load_pair(x + 2, x_head + head.half + head.at);
    if (!head.is_value) {
        float r = scale_of(x, own, placed);
        u32 position = placed.positions[head.token];
        if (own && position < placed.known) {
            const bf16 *gain = head.is_key ? placed.k_gain : placed.q_gain;
            float g[4];
            load_pair(g, gain + head.at), load_pair(g + 2, gain + head.half + head.at);
            for (int i = 0; i < 4; i++) x[i] = x[i] * r * g[i];
            for (int i = 0; i < 2; i++) {
                u64 angle = (u64)position * head.half + head.at + i;
                float c = placed.cosines[angle], s = placed.sines[angle];
                float first = x[i], second = x[i + 2];
                x[i] = first * c - second * s;
                x[i + 2] = second * c + first * s;
            }
        }
    }
    if (!own) return;
    store_pair(y_head + head.at, x), store_pair(y_head + head.half + head.at, x + 2);
    if (head.is_key && pages.at[3])
        keep_pair(pages, placed, head, head.at, x), keep_pair(pages, placed, head, head.half + head.at, x + 2);
}

// dx = r·z - x·r³·Σ(z·x)/d with z = the turned-back gradient times the gain. Values stay.
KERNEL qk_norm_rope_backward(bf16 *d, u64 d_stride, const bf16 *from, u64 from_stride, Words tables, Words gains, Words sizes, float epsilon, Words) {
    Placed placed(tables, gains, sizes, epsilon);
    Head head(placed);
    if (!head.there || head.is_value) return;
    const bf16 *x_head = from + head.token * from_stride + head.head * placed.size;
    bf16 *d_head = d + head.token * d_stride + head.head * placed.size;
    bool own = head.at < head.half;
    float x[4], z[4];
    if (own) load_pair(x, x_head + head.at), load_pair(x + 2, x_head + head.half + head.at);
    float r = scale_of(x, own, placed), sum = 0.0f;
    u32 position = placed.positions[head.token];
    if (own) {
        const bf16 *gain = head.is_key ? placed.k_gain : placed.q_gain;
        float g[4];
        load_pair(z, d_head + head.at), load_pair(z + 2, d_head + head.half + head.at);
        load_pair(g, gain + head.at), load_pair(g + 2, gain + head.half + head.at);
        for (int i = 0; i < 2; i++) {
            u64 angle = (u64)(position < placed.known ? position : 0) * head.half + head.at + i;
            float c = placed.cosines[angle], s = placed.sines[angle];
            float first = z[i], second = z[i + 2];
            z[i] = (first * c + second * s) * g[i];
            z[i + 2] = (second * c - first * s) * g[i + 2];
        }
        for (int i = 0; i < 4; i++) sum = fmaf(z[i], x[i], sum);
    }
    float along = r * r * r * sum_of_warp(sum) / (float)placed.size;
    if (own) {
        for (int i = 0; i < 4; i++) z[i] = r * z[i] - x[i] * along;
        store_pair(d_head + head.at, z), store_pair(d_head + head.half + head.at, z + 2);
    }
}
