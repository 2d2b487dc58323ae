// The next token of each row of logits. `tiles.cuh` is in front.
//
// All cuts keep a beginning of the tokens in falling order of their logits, lower ids first among
// equals. So no token is moved: the place where a count or a sum of weights passes a number is found
// by eight bits of the order at a time. Weights e^(l - largest) are counted in units of 2^-44, and
// sums of integers do not depend on their order.

#define THREADS 512
#define UNITS 17592186044416.0f

// One row's wish; the launcher lays it out.
struct Rule {
    double number;
    float inverse_temperature, top_p, min_p, presence, repetition;
    u32 top_k, greedy;
    // Where the row's ids begin: those of its prompt, then those that were sampled.
    u32 ids, prompt, sampled;
    u32 unused[4];
};

__device__ __forceinline__ bool penalised(const Rule &rule) { return rule.prompt + rule.sampled > 0; }

// Logits by the temperature, unless there are no rules, and their tiles: a warp for each row and tile,
// 8 of them a block.
KERNEL_OF(256, 1) sample_tiles(Tile *tiles, float *logits, u64 stride, const Rule *rules, u64 rows, u32 vocabulary,
                               u32 count) {
    let_next_kernel_begin();
    wait_for_kernels_before();
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32, row = warp / count;
    if (row >= rows) return;
    u32 first = (u32)(warp % count) * TILE;
    int length = min((u32)TILE, vocabulary - first);
    float x[8], inverse = rules ? rules[row].inverse_temperature : 1.0f;
    float *from = logits + row * stride + first;
    load_tile(x, from, length);
    if (inverse != 1.0f)
#pragma unroll
        for (int i = 0; i < 8; i++) {
            x[i] *= inverse;
            if (place_in_tile(i) < length) from[place_in_tile(i)] = x[i];
        }
    Tile tile = tile_of(x);
    if (threadIdx.x % 32 == 0) tiles[warp] = tile;
}

// The logits of a row's ids, and what they were. A block for each row. All of them are read before
// the first is written, and those that were sampled are written last: an id may come often.
KERNEL_OF(256, 1) penalise_logits(float *logits, u64 stride, const Rule *rules, const u32 *ids, float *before,
                                  u32 vocabulary) {
    Rule rule = rules[blockIdx.x];
    float *row = logits + blockIdx.x * stride;
    u32 count = rule.prompt + rule.sampled;
    for (u32 at = threadIdx.x; at < count; at += blockDim.x) {
        u32 id = ids[rule.ids + at];
        before[rule.ids + at] = id < vocabulary ? row[id] : 0.0f;
    }
    __syncthreads();
    for (int sampled = 0; sampled < 2; sampled++) {
        u32 begin = sampled ? rule.prompt : 0, end = sampled ? count : rule.prompt;
        for (u32 at = begin + threadIdx.x; at < end; at += blockDim.x) {
            u32 id = ids[rule.ids + at];
            if (id >= vocabulary) continue;
            float x = before[rule.ids + at];
            x = x > 0.0f ? x / rule.repetition : x * rule.repetition;
            row[id] = sampled ? x - rule.presence * rule.inverse_temperature : x;
        }
        __syncthreads();
    }
}

// Falling order as rising numbers, from 0 for the largest logit on.
__device__ __forceinline__ u32 key_of(float x) {
    u32 bits = __float_as_uint(x);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float logit_of(u32 key) { return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key); }

// The first of the most probable, by one warp.
__device__ __forceinline__ u32 most_probable(const float *logits, const Tile *tiles, float top, u32 vocabulary, int count) {
    int lane = threadIdx.x % 32, tile = 0;
    for (int at = lane; at - lane < count; at += 32) {
        u32 found = __ballot_sync(~0u, at < count && tiles[at].top >= top);
        if (found) {
            tile = at - lane + __ffs(found) - 1;
            break;
        }
    }
    for (u32 at = tile * TILE + lane; at - lane < vocabulary; at += 32) {
        u32 found = __ballot_sync(~0u, at < vocabulary && logits[at] >= top);
        if (found) return at - lane + __ffs(found) - 1;
    }
    return 0;
}

// The first token at which the running sum of weights passes the number, by one warp: the lane, its
// tile, then its token. Where rounding leaves the number beyond all, the last token that can come.
__device__ __forceinline__ u32 among_all(const float *logits, const Tile *tiles, const Row &row, double number,
                                         u32 vocabulary, int count) {
    int begin, end, lane = threadIdx.x % 32, tile = 0;
    tiles_of_lane(begin, end, count);
    double left = number * row.sum;
    u32 passing = __ballot_sync(~0u, left < row.before + row.own), possible = __ballot_sync(~0u, row.own > 0.0);
    int owner = passing ? __ffs(passing) - 1 : 31 - __clz(possible | 1);
    bool passed = false;
    left -= row.before;
    for (int at = begin; at < end && !passed; at++) {
        double part = (double)factor_of(tiles[at], row.top) * tiles[at].sum;
        if (part > 0.0) tile = at;
        passed = left < part;
        if (!passed) left -= part;
    }
    tile = __shfl_sync(~0u, tile, owner), left = __shfl_sync(~0u, left, owner);
    passed = __shfl_sync(~0u, (int)passed, owner);
    u32 first = tile * TILE + lane * 8;
    float weights[8];
    double own = 0.0, sum = 0.0, before = 0.0;
    int last = -1;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        weights[i] = first + i < vocabulary ? exponential(logits[first + i] - row.top) : 0.0f;
        own += weights[i];
        if (weights[i] > 0.0f) last = i;
    }
    for (int from = 0; from < 32; from++) {
        if (lane == from) before = sum;
        sum += __shfl_sync(~0u, own, from);
    }
    passing = __ballot_sync(~0u, passed && left < before + own), possible = __ballot_sync(~0u, last >= 0);
    owner = passing ? __ffs(passing) - 1 : 31 - __clz(possible | 1);
    left -= before;
    int chosen = passing ? -1 : max(last, 0);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        left -= weights[i];
        if (chosen < 0 && left < 0.0) chosen = i;
    }
    if (chosen < 0) chosen = max(last, 0);
    return __shfl_sync(~0u, first + chosen, owner);
}

// All tokens of a row, by the whole block: eight of them are on their way at a time.
template <class F> __device__ __forceinline__ void each_token(const float *logits, u32 vocabulary, F work) {
    for (u32 begin = 0; begin < vocabulary; begin += 8 * THREADS) {
        float x[8];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            u32 id = begin + i * THREADS + threadIdx.x;
            x[i] = id < vocabulary ? logits[id] : NO_LOGIT;
        }
#pragma unroll
        for (int i = 0; i < 8; i++) work(begin + i * THREADS + threadIdx.x, x[i]);
    }
}

// Tokens that may pass the cuts, as their places in the order: a list where it is short enough, else
// the whole row is gone through.
struct Candidates {
    const float *logits;
    u32 *list;
    u32 vocabulary, listed, count, top_key;
    // How many bits the last place has.
    int bits;
    double least;

    template <class F> __device__ __forceinline__ void each(F work) const {
        if (count <= listed) {
            for (u32 at = threadIdx.x; at < count; at += THREADS) work(list[at]);
        } else {
            each_token(logits, vocabulary, [&](u32 id, float x) {
                if (id < vocabulary && !(x < least)) work(top_key - key_of(x));
            });
        }
    }

    __device__ __forceinline__ float weight(u32 order) const {
        return exponential(logit_of(top_key - order) - logit_of(top_key));
    }

    __device__ __forceinline__ u64 units(u32 order) const { return __float2ull_rz(weight(order) * UNITS); }
};

struct Counters {
    u32 counts[256];
    u64 units[256];
    u32 digit, found, count_before;
    u64 units_before, sum;
};

// Finds all candidates; by the whole block.
__device__ void gather(Candidates &candidates) {
    __shared__ u32 count, last;
    if (threadIdx.x == 0) count = 0, last = 0;
    __syncthreads();
    u32 own_last = 0;
    each_token(candidates.logits, candidates.vocabulary, [&](u32 id, float x) {
        bool there = id < candidates.vocabulary && !(x < candidates.least);
        u32 all = __ballot_sync(~0u, there), lane = threadIdx.x % 32, at = 0;
        if (all == 0) return;
        if (lane == 0) at = atomicAdd(&count, __popc(all));
        at = __shfl_sync(~0u, at, 0) + __popc(all & ((1u << lane) - 1));
        if (!there) return;
        u32 order = candidates.top_key - key_of(x);
        own_last = max(own_last, order);
        if (at < candidates.listed) candidates.list[at] = order;
    });
    atomicMax(&last, own_last);
    __syncthreads();
    candidates.count = count;
    candidates.bits = max(1, 32 - __clz(last));
}

// The units of all candidates before `last` that have at least this weight; by the whole block.
__device__ u64 units_of(const Candidates &candidates, Counters &all, u32 last, float least) {
    __syncthreads();
    if (threadIdx.x == 0) all.sum = 0;
    __syncthreads();
    u64 own = 0;
    candidates.each([&](u32 order) {
        if (order < last && candidates.weight(order) >= least) own += candidates.units(order);
    });
    atomicAdd(&all.sum, own);
    __syncthreads();
    return all.sum;
}

// A place in the order, and what comes before it.
struct Place {
    u32 order, count_before;
    u64 units_before;
    bool found;
};

// One warp finds the first digit at which the count, or the units, exceed what is left.
__device__ __forceinline__ void find_digit(Counters &all, bool by_count, u64 left) {
    int lane = threadIdx.x;
    u32 count = 0;
    u64 units = 0;
    for (int i = 0; i < 8; i++) count += all.counts[lane * 8 + i], units += all.units[lane * 8 + i];
    u32 counts = count;
    u64 sums = units;
    for (int distance = 1; distance < 32; distance *= 2) {
        u32 more = __shfl_up_sync(~0u, counts, distance);
        u64 more_units = __shfl_up_sync(~0u, sums, distance);
        if (lane >= distance) counts += more, sums += more_units;
    }
    u32 passing = __ballot_sync(~0u, (by_count ? (u64)counts : sums) > left);
    if (lane == 0) all.found = passing != 0;
    if (!passing || lane != __ffs(passing) - 1) return;
    counts -= count, sums -= units;
    for (int i = 0; i < 8; i++) {
        u32 digit = lane * 8 + i;
        if ((by_count ? (u64)counts + all.counts[digit] : sums + all.units[digit]) > left) {
            all.digit = digit, all.count_before = counts, all.units_before = sums;
            return;
        }
        counts += all.counts[digit], sums += all.units[digit];
    }
}

// Where the running count, or sum of units, exceeds `target`; by the whole block. Counts are not needed
// to find a sum.
__device__ Place find_place(const Candidates &candidates, Counters &all, bool by_count, u64 target) {
    Place place = {0, 0, 0, true};
    for (int left = candidates.bits; left > 0;) {
        int width = min(8, left), shift = left - width;
        for (int i = threadIdx.x; i < 256; i += THREADS) all.counts[i] = 0, all.units[i] = 0;
        __syncthreads();
        candidates.each([&](u32 order) {
            if ((u64)order >> left != place.order) return;
            u32 digit = order >> shift & ((1u << width) - 1);
            if (by_count) atomicAdd(&all.counts[digit], 1u);
            atomicAdd(&all.units[digit], candidates.units(order));
        });
        __syncthreads();
        u64 before = by_count ? place.count_before : place.units_before;
        if (threadIdx.x < 32) find_digit(all, by_count, target - before);
        __syncthreads();
        place.found = all.found != 0;
        if (!place.found) return place;
        place.order = place.order << width | all.digit;
        place.count_before += all.count_before, place.units_before += all.units_before;
        left = shift;
        __syncthreads();
    }
    return place;
}

// The id of a token with this logit, by how many with it have lower ids; by the whole block. The list is
// no longer needed.
__device__ u32 id_of(const Candidates &candidates, u32 order, u32 index, u32 *scratch) {
    __shared__ u32 chosen, equals;
    const u32 key = candidates.top_key - order, vocabulary = candidates.vocabulary;
    __syncthreads();
    if (threadIdx.x == 0) chosen = 0, equals = 0;
    __syncthreads();
    each_token(candidates.logits, vocabulary, [&](u32 id, float x) {
        if (id < vocabulary && key_of(x) == key) {
            chosen = id;
            atomicAdd(&equals, 1u);
        }
    });
    __syncthreads();
    if (equals <= 1) return chosen;
    u32 each = (vocabulary + THREADS - 1) / THREADS, own = 0;
    u32 begin = min(vocabulary, threadIdx.x * each), end = min(vocabulary, begin + each);
    for (u32 id = begin; id < end; id++) own += key_of(candidates.logits[id]) == key;
    scratch[threadIdx.x] = own;
    __syncthreads();
    u32 lower = 0;
    for (int before = 0; before < threadIdx.x; before++) lower += scratch[before];
    if (lower <= index && index < lower + own)
        for (u32 id = begin; id < end; id++)
            if (key_of(candidates.logits[id]) == key && lower++ == index) chosen = id;
    __syncthreads();
    return chosen;
}

// The least logit that a token of the `top_k` best can have: that of the tile which has so many, less
// one, before it. By the whole block.
__device__ float least_of_best(const Tile *tiles, u32 count, u32 top_k, float *tops, u32 room) {
    __shared__ float least;
    if (threadIdx.x == 0) least = NO_LOGIT;
    if (top_k <= count && count <= room) {
        for (u32 at = threadIdx.x; at < count; at += THREADS) tops[at] = tiles[at].top;
        __syncthreads();
        for (u32 at = threadIdx.x; at < count; at += THREADS) {
            float own = tops[at];
            u32 before = 0;
            for (u32 other = 0; other < count; other++) before += tops[other] > own || (tops[other] == own && other < at);
            if (before == top_k - 1) least = own;
        }
    }
    __syncthreads();
    return least;
}

// The same as among_all after the cuts; by the whole block. `list` has room for `listed` numbers, at
// least one for each thread.
__device__ u32 among_best(const float *logits, const Tile *tiles, const Rule &rule, float top, double sum,
                          u32 vocabulary, u32 count, u32 *list, u32 listed) {
    __shared__ Counters all;
    const bool best = rule.top_k > 0 && rule.top_k < vocabulary;
    Candidates candidates = {logits, list, vocabulary, listed, 0, key_of(top), 1, 0.0};
    if (best) candidates.least = least_of_best(tiles, count, rule.top_k, (float *)list, listed);
    else {
        double rest = (1.0 - (double)rule.top_p) * sum / vocabulary;
        // A hundredth is more than all rounding on the way.
        candidates.least = (double)top + log(fmax(rest, fmin((double)rule.min_p, 1.0))) - 0.01;
    }
    gather(candidates);
    // The last token that is kept, how many of its equals are, and the units of all that are.
    u32 last = ~0u, equals = ~0u;
    u64 kept, held = (u64)(sum * (double)UNITS);
    if (best) {
        Place place = find_place(candidates, all, true, rule.top_k - 1);
        last = place.order, equals = rule.top_k - place.count_before;
        kept = held = place.units_before + equals * candidates.units(place.order);
    } else {
        kept = units_of(candidates, all, ~0u, 0.0f);
    }
    if (rule.top_p < 1.0f) {
        u64 share = max(1ull, (u64)ceil(fmax(0.0, (double)rule.top_p) * (double)held));
        Place place = find_place(candidates, all, false, share - 1);
        u64 units = candidates.units(place.order);
        if (place.found && units > 0) {
            u32 needed = (u32)((share - place.units_before + units - 1) / units);
            if (place.order < last || (place.order == last && needed < equals)) {
                last = place.order, equals = needed;
                kept = place.units_before + needed * units;
            }
        }
    }
    if (rule.min_p > 0.0f && (last == ~0u || candidates.weight(last) < rule.min_p))
        kept = max(units_of(candidates, all, last, rule.min_p), candidates.units(0));
    u64 target = (u64)(rule.number * (double)kept);
    target = target < kept ? target : kept - 1;
    Place place = find_place(candidates, all, false, target);
    u64 units = max(1ull, candidates.units(place.order));
    u32 index = place.found ? (u32)((target - place.units_before) / units) : 0;
    return id_of(candidates, place.found ? place.order : 0, index, list);
}

// A block for each row; shared memory has room for `listed` candidates where a row has cuts. The
// log-probability is that of the plain distribution: of the tiles before
// penalties, and of the logit as it was before them.
KERNEL_OF(THREADS, 1) choose_tokens(u32 *tokens, float *logps, const float *logits, u64 stride, const Tile *plain,
                                    const Tile *tiles, const Rule *rules, const u32 *ids, const float *before,
                                    u32 vocabulary, u32 count, u32 listed) {
    extern __shared__ u32 list[];
    __shared__ float lse, top, logit;
    __shared__ double sum;
    __shared__ u32 token;
    wait_for_kernels_before();
    const u64 at = blockIdx.x;
    const Rule rule = rules[at];
    const float *own = logits + at * stride;
    const Tile *own_tiles = (penalised(rule) ? tiles : plain) + at * count;
    const bool cut = (rule.top_k > 0 && rule.top_k < vocabulary) || rule.top_p < 1.0f || rule.min_p > 0.0f;
    if (threadIdx.x < 32) {
        Row row = row_of(plain + at * count, count);
        float known = lse_of(row);
        if (penalised(rule)) row = row_of(own_tiles, count);
        bool whole = row.sum > 0.0 && row.sum < __longlong_as_double(0x7ff0000000000000ll);
        u32 chosen = 0;
        if (rule.greedy) chosen = most_probable(own, own_tiles, row.top, vocabulary, count);
        else if (whole && !cut) chosen = among_all(own, own_tiles, row, rule.number, vocabulary, count);
        if (threadIdx.x == 0) lse = known, top = row.top, sum = whole ? row.sum : 0.0, token = min(chosen, vocabulary - 1);
    }
    __syncthreads();
    if (!rule.greedy && cut && sum > 0.0) {
        u32 chosen = among_best(own, own_tiles, rule, top, sum, vocabulary, count, list, listed);
        if (threadIdx.x == 0) token = min(chosen, vocabulary - 1);
        __syncthreads();
    }
    if (threadIdx.x == 0) logit = own[token];
    __syncthreads();
    for (u32 i = threadIdx.x; i < rule.prompt + rule.sampled; i += THREADS)
        if (ids[rule.ids + i] == token) logit = before[rule.ids + i];
    __syncthreads();
    if (threadIdx.x == 0) tokens[at] = token, logps[at] = logit - lse;
}
