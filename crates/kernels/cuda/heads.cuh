// Query and key heads that are normed and turned, and values beside them, as `qk_norm_rope.cu` says.

struct Placed {
    const float *cosines, *sines;
    const u32 *positions;
    const bf16 *q_gain, *k_gain;
    u32 known, tokens, heads, kv_heads, size, all;
    float epsilon;
    // Tables are cosines, sines, positions and how many positions are known; gains those of queries and
    // of keys, and how many heads of values there are; sizes tokens, heads, heads of keys and numbers of a head.
    __device__ __forceinline__ Placed(const Words &tables, const Words &gains, const Words &sizes, float epsilon)
        : cosines((const float *)tables.at[0]), sines((const float *)tables.at[1]), positions((const u32 *)tables.at[2]),
          q_gain((const bf16 *)gains.at[0]), k_gain((const bf16 *)gains.at[1]), known((u32)tables.at[3]), tokens((u32)sizes.at[0]),
          heads((u32)sizes.at[1]), kv_heads((u32)sizes.at[2]), size((u32)sizes.at[3]), all(heads + kv_heads + (u32)gains.at[2]), epsilon(epsilon) {}
};

// Whole heads: D numbers, eight a lane, several heads at once, PASSES times.
template <int D, int PASSES> struct WholeHeads {
    static constexpr int LANES = D / GROUP, AT_ONCE = 32 / LANES, HEADS = PASSES * AT_ONCE;
    u32 token, first, at;
    bool there, is_second;
    __device__ __forceinline__ WholeHeads(const Placed &placed) {
        const u64 index = (u64)blockIdx.x * 8 + threadIdx.x / 32;
        const u32 groups = (placed.all + HEADS - 1) / HEADS;
        token = (u32)divided(index, groups);
        first = (u32)(index - (u64)token * groups) * HEADS + threadIdx.x % 32 / LANES;
        at = threadIdx.x % LANES * GROUP;
        there = token < placed.tokens, is_second = at >= D / 2;
    }
    __device__ __forceinline__ WholeHeads(const Placed &placed, u32 token, u32 first) : token(token), first(first) {
        at = threadIdx.x % LANES * GROUP;
        there = token < placed.tokens, is_second = at >= D / 2;
    }
    __device__ __forceinline__ u32 head(int pass) const { return first + pass * AT_ONCE; }
    // A lane's part of each head up to `end`, or zeros.
    __device__ __forceinline__ void load(uint4 (&x)[PASSES], const bf16 *row, u32 end) const {
#pragma unroll
        for (int pass = 0; pass < PASSES; pass++)
            x[pass] = head(pass) < end ? *(const uint4 *)(row + head(pass) * D + at) : make_uint4(0, 0, 0, 0);
    }
    __device__ __forceinline__ void gains(float *g, const Placed &placed, int pass) const {
        unpack_group(g, *(const uint4 *)((head(pass) < placed.heads ? placed.q_gain : placed.k_gain) + at));
    }
    // Cosines and sines of a lane's angles; a sine is negative where the partner's number is subtracted.
    __device__ __forceinline__ void turn(float *c, float *s, const Placed &placed, u32 position, bool negative) const {
        const u64 angle = (u64)(position < placed.known ? position : 0) * (D / 2) + at % (D / 2);
        load_group(c, placed.cosines + angle, GROUP);
        load_group(s, placed.sines + angle, GROUP);
#pragma unroll
        for (int i = 0; i < GROUP; i++) s[i] = negative ? -s[i] : s[i];
    }
    // x · c + partner · s, where the partner is half a head away.
    __device__ __forceinline__ static void turned(float *x, const float *c, const float *s) {
#pragma unroll
        for (int i = 0; i < GROUP; i++) x[i] = x[i] * c[i] + __shfl_xor_sync(~0u, x[i], LANES / 2) * s[i];
    }
    __device__ __forceinline__ static float sum(const float *x, const float *y) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < GROUP; i++) sum = fmaf(x[i], y[i], sum);
#pragma unroll
        for (int distance = LANES / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
        return sum;
    }
    __device__ __forceinline__ static float scale(const float *x, const Placed &placed) {
        return 1.0f / sqrtf(sum(x, x) / (float)D + placed.epsilon);
    }
    // A lane's part of a head normed and turned, or as it is if it is one of values or of an unknown position.
    __device__ __forceinline__ uint4 put_in_place(uint4 bits, const float *g, const float *c, const float *s, const Placed &placed, u32 position,
                                                  int pass) const {
        float x[GROUP];
        unpack_group(x, bits);
        const float r = scale(x, placed);
#pragma unroll
        for (int i = 0; i < GROUP; i++) x[i] = x[i] * r * g[i];
        turned(x, c, s);
        const bool changes = head(pass) < placed.heads + placed.kv_heads && position < placed.known;
        const uint4 other = make_uint4(rounded_pair(x[0], x[1]), rounded_pair(x[2], x[3]), rounded_pair(x[4], x[5]), rounded_pair(x[6], x[7]));
        return changes ? other : bits;
    }
    // The gradient of a lane's part of a head becomes that of what was normed and turned: dx = r·z - x·r³·Σ(z·x)/d with
    // z = the turned-back gradient times the gain.
    __device__ __forceinline__ static void back(float *z, const float *x, const float *g, const float *c, const float *s, const Placed &placed) {
        turned(z, c, s);
#pragma unroll
        for (int i = 0; i < GROUP; i++) z[i] = z[i] * g[i];
        const float r = scale(x, placed), along = r * r * r * sum(z, x) / (float)D;
#pragma unroll
        for (int i = 0; i < GROUP; i++) z[i] = r * z[i] - x[i] * along;
    }
    // Into its row, and if it is one of keys or values into the slot of its token. Pages are those of keys, of
    // values, how many there are, and slots; a slot behind them is none.
    __device__ __forceinline__ void store(bf16 *row, uint4 part, const Placed &placed, const Words &pages, u64 slot, int pass) const {
        const u32 values = placed.heads + placed.kv_heads, own = head(pass);
        *(uint4 *)(row + own * D + at) = part;
        if (own < placed.heads || slot >= pages.at[2] * 16) return;
        const bool is_value = own >= values;
        bf16 *kept = (bf16 *)(is_value ? pages.at[1] : pages.at[0]) + (slot / 16 * placed.kv_heads + own - (is_value ? values : placed.heads)) * 16 * D;
        *(uint4 *)(kept + place_in_page(slot % 16, at, D)) = part;
    }
};

