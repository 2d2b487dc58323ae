// Causal attention of packed sequences, and attention of single rows to pages.
//
// Both go through the same functions, so a row's bits are the same: keys in blocks of 64 from the beginning
// of the sequence, in order; scores by the tensor core over the head, 16 numbers at a time; a running
// maximum; weights rounded to bf16, their sum by the tensor core against ones. A row of a tile of 16
// knows nothing of the other 15, and a block of keys that it does not see changes nothing: its
// weights are zero and its factor is one.
//
// A head has D numbers or fewer, a multiple of 8: what is missing is zero and is not written.

#define KEYS 64
#define BUFFERS 3
#define ONES 0x3f803f80u
// Less than every score, and no infinity: the difference of two of them is zero.
#define UNSEEN -1e30f

// Keys and values of a sequence that lie in the rows of one matrix or of two.
struct PackedKeys {
    const bf16 *keys, *values;
    u64 stride, values_stride;
    int length, size;
    __device__ __forceinline__ const bf16 *at(int position, bool of_values) const {
        if (position >= length) return 0;
        return of_values ? values + position * values_stride : keys + position * stride;
    }
    __device__ __forceinline__ int group_at(int, int group) const { return group; }
};

// Keys and values in pages of 16 tokens: page, head, token, and groups of 8 as `place_in_page` says.
struct PagedKeys {
    const bf16 *keys, *values;
    const u32 *pages;
    u32 page_count, listed;
    u64 page_size;
    int length, size;
    __device__ __forceinline__ const bf16 *at(int position, bool of_values) const {
        if (position >= length || (u32)position / 16 >= listed) return 0;
        u32 page = pages[position / 16];
        if (page >= page_count) return 0;
        return (of_values ? values : keys) + page * page_size + position % 16 * size;
    }
    __device__ __forceinline__ int group_at(int position, int group) const { return turned_group(position, group, size); }
};

// The two rows of a tile that a thread holds a part of: the thread's lane / 4, and that plus 8.
struct Rows {
    const bf16 *query[2];
    // How many keys each sees; 0 for a row that is not there.
    int sees[2];
};

// Sums of rows over some columns of the values.
template <int COLUMNS> struct Attended {
    float sums[COLUMNS / 8][4];
    float weights[4];
    float top[2];
};

template <int D, int THREADS, class Source>
__device__ __forceinline__ void load_item(const Source &source, u32 buffers, int item, int blocks) {
    constexpr int CHUNKS = D / 8;
    if (item / 2 < blocks) {
        u32 to = buffers + item % BUFFERS * (KEYS * D * 2);
#pragma unroll
        for (int j = 0; j < KEYS * CHUNKS / THREADS; j++) {
            int i = threadIdx.x + j * THREADS, key = i / CHUNKS, chunk = i % CHUNKS;
            const bf16 *from = source.at(item / 2 * KEYS + key, item & 1);
            u32 place = to + key * (D * 2) + ((chunk ^ (key & 7)) << 4);
            bool there = from != 0 && chunk * 8 < source.size;
            copy_16_bytes(place, there ? from + source.group_at(key, chunk) * 8 : source.keys, there);
        }
    }
    asm volatile("cp.async.commit_group;");
}

__device__ __forceinline__ void wait_for_item() {
    asm volatile("cp.async.wait_group %0;" ::"n"(BUFFERS - 2));
    __syncthreads();
}

// Scores of 16 keys, two tiles of 8: a chain over the numbers of a head.
template <int D> __device__ __forceinline__ void score_16_keys(float (*c)[4], u32 keys, int first, const u32 (*query)[4], int k) {
    int lane = threadIdx.x % 32, key = first + lane % 8 + lane / 16 * 8, chunk = k * 2 + lane / 8 % 2;
    u32 r[4];
    load_tiles(r, keys + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
    multiply_add(c[0], query[k], r[0], r[1]);
    multiply_add(c[1], query[k], r[2], r[3]);
}

// Scores of a block of keys become weights: their maximum is joined to `top`, and `factor` is what
// everything before has to be multiplied by. Without the second half its rows are not there.
__device__ __forceinline__ void weigh(u32 (*weights)[2], float *factor, float *top, float (*c)[4], const Rows &rows,
                                      int first_key, float scale, bool both_halves) {
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        if (half == 1 && !both_halves) {
            factor[1] = 1.0f;
#pragma unroll
            for (int j = 0; j < 8; j++) weights[j][1] = 0;
            continue;
        }
        bool cut = first_key + KEYS > rows.sees[half];
        float most = UNSEEN;
#pragma unroll
        for (int j = 0; j < 8; j++)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float score = c[j][2 * half + i] * scale;
                if (cut && first_key + j * 8 + pair + i >= rows.sees[half]) score = UNSEEN;
                c[j][2 * half + i] = score;
                most = fmaxf(most, score);
            }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        most = fmaxf(most, top[half]);
        factor[half] = power_of_two(top[half] - most);
        top[half] = most;
#pragma unroll
        for (int j = 0; j < 8; j++)
            weights[j][half] =
                rounded_pair(power_of_two(c[j][2 * half] - most), power_of_two(c[j][2 * half + 1] - most));
    }
}

template <int COLUMNS> __device__ __forceinline__ void begin_sums(Attended<COLUMNS> &to) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++) to.sums[j][0] = to.sums[j][1] = to.sums[j][2] = to.sums[j][3] = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] = 0.0f;
    to.top[0] = to.top[1] = UNSEEN;
}

// Sums of values by weight, from column `first` on, and of the weights. Of the keys so many are seen: whole
// groups of 16 behind them, whose weights are zero, change nothing and are left out.
template <int D, int COLUMNS>
__device__ __forceinline__ void add_values(Attended<COLUMNS> &to, u32 values, const u32 (*weights)[2], const float *factor,
                                           int first, int seen = KEYS) {
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++) to.sums[j][i] *= factor[i / 2];
#pragma unroll
    for (int i = 0; i < 4; i++) to.weights[i] *= factor[i / 2];
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        if (k * 16 >= seen) break;
        u32 a[4] = {weights[2 * k][0], weights[2 * k][1], weights[2 * k + 1][0], weights[2 * k + 1][1]};
        multiply_add(to.weights, a, ONES, ONES);
#pragma unroll
        for (int h = 0; h < COLUMNS / 16; h++) {
            int key = k * 16 + lane % 8 + lane / 8 % 2 * 8, chunk = first / 8 + h * 2 + lane / 16;
            u32 r[4];
            load_tiles_turned(r, values + key * (D * 2) + ((chunk ^ (key & 7)) << 4));
            multiply_add(to.sums[2 * h], a, r[0], r[1]);
            multiply_add(to.sums[2 * h + 1], a, r[2], r[3]);
        }
    }
}

template <int D> __device__ __forceinline__ void load_queries(u32 (*query)[4], const Rows &rows, int size) {
    int pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const bf16 *from = rows.query[i % 2];
            int column = k * 16 + i / 2 * 8;
            query[k][i] = from && column < size ? *(const u32 *)(from + column + pair) : 0u;
        }
}

// Columns from `first` on of a row, those that there are.
template <int COLUMNS>
__device__ __forceinline__ void put_row(bf16 *to, const Attended<COLUMNS> &from, int half, int first, int size) {
    float inverse = __frcp_rn(from.weights[2 * half]);
    u32 pair = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < COLUMNS / 8; j++)
        if (first + j * 8 < size)
            *(u32 *)(to + first + j * 8 + pair) =
                rounded_pair(from.sums[j][2 * half] * inverse, from.sums[j][2 * half + 1] * inverse);
}

struct Heads {
    u64 heads, kv_heads, at_once, size;
};

// Pages of rows, where those of each begin, how many tokens each sees, and how many pages are listed.
struct Tables {
    const u32 *pages, *starts, *lengths;
    u64 listed;
};

struct Pages {
    const bf16 *keys, *values;
    // Whether kernels before this one wrote no token that a row sees but its last.
    u64 count, only_last_is_new;
};

// Numbers between rows of scores in shared memory, so that no two threads of a quarter meet in a bank.
#define SCORES 72
