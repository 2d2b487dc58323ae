// What is known of a row of logits, tile by tile of the vocabulary: for training's head and for
// sampling alike, so that a log-probability has the same bits in both.
//
// A warp takes a tile of 256 tokens: its largest logit t, Σ e^(l-t) and Σ e^(l-t)·(l-t). A lane adds
// its eight tokens in order, lanes are added by a tree. Then a warp takes a row: each lane adds a 32nd
// of the tiles in f64 in their order, and the lanes are added in order.

#define TILE 256
#define LOG2_E 1.44269502f
#define NO_LOGIT __int_as_float(0xff800000)

struct Tile {
    float top, sum, weighted;
};

// A lane's tokens: four from 4 · lane on, and four 128 further. What is not there is NO_LOGIT.
__device__ __forceinline__ int place_in_tile(int i) { return i / 4 * 128 + threadIdx.x % 32 * 4 + i % 4; }

__device__ __forceinline__ void load_tile(float *x, const float *from, int count) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int at = place_in_tile(half * 4);
        if (at + 4 <= count && aligned(from)) {
            float4 four = *(const float4 *)(from + at);
            x[half * 4] = four.x, x[half * 4 + 1] = four.y, x[half * 4 + 2] = four.z, x[half * 4 + 3] = four.w;
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) x[half * 4 + i] = at + i < count ? from[at + i] : NO_LOGIT;
        }
    }
}

__device__ __forceinline__ float exponential(float x) { return power_of_two(x * LOG2_E); }

// Of a lane's eight logits and those of the other lanes. A logit that is NaN makes the sum NaN.
__device__ __forceinline__ Tile tile_of(const float *x) {
    Tile tile = {NO_LOGIT, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < 8; i++) tile.top = fmaxf(tile.top, x[i]);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        tile.top = fmaxf(tile.top, __shfl_xor_sync(~0u, tile.top, distance));
    float from = tile.top == NO_LOGIT ? 0.0f : tile.top;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float shift = x[i] - from, e = exponential(shift);
        tile.sum += e;
        tile.weighted += e > 0.0f ? e * shift : 0.0f;
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        tile.sum += __shfl_xor_sync(~0u, tile.sum, distance);
        tile.weighted += __shfl_xor_sync(~0u, tile.weighted, distance);
    }
    return tile;
}

// A row by the largest of its logits. `before` is the sum of the tiles of all lanes before this one,
// `own` that of this lane's.
struct Row {
    float top;
    double sum, weighted, before, own;
};

// Tiles of a lane: from begin to end.
__device__ __forceinline__ void tiles_of_lane(int &begin, int &end, int count) {
    int each = (count + 31) / 32;
    begin = min(count, (int)(threadIdx.x % 32) * each);
    end = min(count, begin + each);
}

__device__ __forceinline__ float factor_of(Tile tile, float top) { return exponential(tile.top - top); }

// By one warp. A row with no number, or without a finite logit, has no number as its sum.
__device__ __forceinline__ Row row_of(const Tile *tiles, int count) {
    int begin, end, lane = threadIdx.x % 32;
    tiles_of_lane(begin, end, count);
    Row row = {NO_LOGIT, 0.0, 0.0, 0.0, 0.0};
    for (int at = begin; at < end; at++) row.top = fmaxf(row.top, tiles[at].top);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        row.top = fmaxf(row.top, __shfl_xor_sync(~0u, row.top, distance));
    double weighted = 0.0;
    for (int at = begin; at < end; at++) {
        Tile tile = tiles[at];
        double factor = factor_of(tile, row.top), shift = tile.top - row.top;
        row.own += factor * tile.sum;
        if (factor > 0.0) weighted += factor * (tile.weighted + shift * tile.sum);
    }
    for (int from = 0; from < 32; from++) {
        if (lane == from) row.before = row.sum;
        row.sum += __shfl_sync(~0u, row.own, from);
        row.weighted += __shfl_sync(~0u, weighted, from);
    }
    return row;
}

__device__ __forceinline__ float lse_of(const Row &row) { return row.top + (float)log(row.sum); }

__device__ __forceinline__ float entropy_of(const Row &row) { return (float)(log(row.sum) - row.weighted / row.sum); }
