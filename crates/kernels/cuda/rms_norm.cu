// y = x · r · g over heads inside rows, and back. A head is one row of threads (threadIdx.x); how
// many there are depends on the head's size alone, so its sums have one order everywhere.

struct Shape {
    u64 rows, heads, size, stride;
};

// The block's head of a matrix, or none.
__device__ __forceinline__ u64 head_at(u64 index, Shape shape) {
    u64 row = divided(index, shape.heads);
    return row * shape.stride + (index - row * shape.heads) * shape.size;
}

// A thread's numbers of a head: where a head has one group for each thread, they are read once and
// kept; longer ones are read again where they are needed. The order of sums is the same.
#define EACH_OWN(at, size)                                                                         \
    for (u64 at = (u64)threadIdx.x * GROUP; at < (size); at += (u64)blockDim.x * GROUP)

__device__ __forceinline__ int left(u64 at, u64 size) { return size - at < GROUP ? (int)(size - at) : GROUP; }

__device__ __forceinline__ float reciprocal(float squares, u64 size, float epsilon) {
    return 1.0f / sqrtf(squares / (float)size + epsilon);
}

__device__ __forceinline__ float sum_of_squares(const float *x, float sum) {
#pragma unroll
    for (int i = 0; i < GROUP; i++) sum = fmaf(x[i], x[i], sum);
    return sum;
}

__device__ __forceinline__ void scaled(bf16 *y, const float *x, const float *g, float r, int end) {
    float a[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) a[i] = x[i] * r * g[i];
    store_group(y, a, end);
}

KERNEL rms_norm_forward(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    __shared__ float scratch[64];
    u64 index = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    bool there = index < from.rows * from.heads;
    u64 size = there ? from.size : 0, first = (u64)threadIdx.x * GROUP;
    x += there ? head_at(index, from) : 0;
    y += there ? head_at(index, to) : 0;
    float own[GROUP], g[GROUP], sum = 0.0f;
    if (from.size <= (u64)blockDim.x * GROUP) {
        if (first < size) {
            load_group(own, x + first, left(first, size));
            load_group(g, gain + first, left(first, size));
            sum = sum_of_squares(own, sum);
        }
        float r = reciprocal(sum_over_x(sum, scratch), size, epsilon);
        if (first < size) scaled(y + first, own, g, r, left(first, size));
        return;
    }
    EACH_OWN(at, size) {
        load_group(own, x + at, left(at, size));
        sum = sum_of_squares(own, sum);
    }
    float r = reciprocal(sum_over_x(sum, scratch), size, epsilon);
    EACH_OWN(at, size) {
        load_group(own, x + at, left(at, size));
        load_group(g, gain + at, left(at, size));
        scaled(y + at, own, g, r, left(at, size));
    }
}

// The same for heads of whole groups that begin at multiples of 16 bytes, one group a thread. A block takes
// heads in turn and asks for the next before it sums up one; the order of sums is the same.
KERNEL_OF(256, 6) rms_norm_forward_ahead(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    __shared__ float scratch[64];
    const u64 all = from.rows * from.heads, step = (u64)gridDim.x * blockDim.y, first = (u64)threadIdx.x * GROUP;
    const bool own = first < from.size;
    auto ask = [&](u64 index) {
        return own && index < all ? *(const uint4 *)(x + head_at(index, from) + first) : make_uint4(0, 0, 0, 0);
    };
    const uint4 gains = own ? *(const uint4 *)(gain + first) : make_uint4(0, 0, 0, 0);
    let_next_kernel_begin();
    wait_for_kernels_before();
    uint4 ahead = ask((u64)blockIdx.x * blockDim.y + threadIdx.y);
    for (u64 base = (u64)blockIdx.x * blockDim.y; base < all; base += step) {
        const u64 index = base + threadIdx.y;
        float a[GROUP], g[GROUP];
        unpack_group(a, ahead);
        ahead = ask(index + step);
        float r = reciprocal(sum_over_x(sum_of_squares(a, 0.0f), scratch), from.size, epsilon);
        if (!own || index >= all) continue;
        unpack_group(g, gains);
        scaled(y + head_at(index, to) + first, a, g, r, GROUP);
    }
}

// Both sums of the backward pass: Σ x² and Σ dy · g · x.
struct Sums {
    float squares, products;
};

__device__ __forceinline__ Sums with_group(Sums sums, const float *x, const float *z) {
    sums.squares = sum_of_squares(x, sums.squares);
#pragma unroll
    for (int i = 0; i < GROUP; i++) sums.products = fmaf(z[i], x[i], sums.products);
    return sums;
}

__device__ __forceinline__ void load_slopes(float *z, const bf16 *dy, const bf16 *gain, int end) {
    float g[GROUP];
    load_group(z, dy, end);
    load_group(g, gain, end);
#pragma unroll
    for (int i = 0; i < GROUP; i++) z[i] = z[i] * g[i];
}

// `old` is what is added to, if it is kept.
__device__ __forceinline__ void put_gradient(bf16 *dx, int kept, const float *old, const float *x, const float *z, float r,
                                             float shift, int end) {
    float a[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        float fresh = z[i] * r - x[i] * shift;
        a[i] = kept ? old[i] + fresh : fresh;
    }
    store_group(dx, a, end);
}

// dx = [added +] r · z - x · r³ · Σ(z·x) / d with z = dy · g. What is added may be dx itself. Leaves r of each
// head in `reciprocals`, if there is room for it.
KERNEL rms_norm_backward(bf16 *dx, Shape dx_at, const bf16 *added, Shape added_at, const bf16 *x, Shape from, const bf16 *dy, Shape to,
                         const bf16 *gain, float epsilon, float *reciprocals) {
    const int kept = added != 0;
    __shared__ float scratch[128];
    u64 index = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    bool there = index < from.rows * from.heads;
    u64 size = there ? from.size : 0, first = (u64)threadIdx.x * GROUP;
    x += there ? head_at(index, from) : 0;
    dx += there ? head_at(index, dx_at) : 0;
    added += there ? head_at(index, added_at) : 0;
    dy += there ? head_at(index, to) : 0;
    float a[GROUP], z[GROUP], old[GROUP];
    const bool once = from.size <= (u64)blockDim.x * GROUP;
    Sums sums = {0.0f, 0.0f};
    if (once && kept && first < size) load_group(old, added + first, left(first, size));
    EACH_OWN(at, size) {
        load_group(a, x + at, left(at, size));
        load_slopes(z, dy + at, gain + at, left(at, size));
        sums = with_group(sums, a, z);
    }
    float2 both = sums_over_x(make_float2(sums.squares, sums.products), scratch);
    float r = reciprocal(both.x, size, epsilon), shift = both.y * r * r * r / (float)size;
    if (once) {
        if (first < size) put_gradient(dx + first, kept, old, a, z, r, shift, left(first, size));
    } else {
        EACH_OWN(at, size) {
            load_group(a, x + at, left(at, size));
            load_slopes(z, dy + at, gain + at, left(at, size));
            if (kept) load_group(old, added + at, left(at, size));
            put_gradient(dx + at, kept, old, a, z, r, shift, left(at, size));
        }
    }
    if (there && reciprocals && threadIdx.x == 0) reciprocals[index] = r;
}

// The same for heads of whole groups that begin at multiples of 16 bytes, as in rms_norm_forward_ahead.
KERNEL_OF(256, 4) rms_norm_backward_ahead(bf16 *dx, Shape dx_at, const bf16 *added, Shape added_at, const bf16 *x, Shape from,
                                          const bf16 *dy, Shape to, const bf16 *gain, float epsilon, float *reciprocals) {
    const int kept = added != 0;
    __shared__ float scratch[128];
    const u64 all = from.rows * from.heads, step = (u64)gridDim.x * blockDim.y, first = (u64)threadIdx.x * GROUP;
    const bool own = first < from.size;
    auto ask = [&](const bf16 *of, u64 index, Shape shape) {
        return own && index < all ? *(const uint4 *)(of + head_at(index, shape) + first) : make_uint4(0, 0, 0, 0);
    };
    const uint4 gains = own ? *(const uint4 *)(gain + first) : make_uint4(0, 0, 0, 0);
    const u64 begin = (u64)blockIdx.x * blockDim.y + threadIdx.y;
    uint4 x_ahead = ask(x, begin, from), dy_ahead = ask(dy, begin, to), added_ahead = make_uint4(0, 0, 0, 0);
    if (kept) added_ahead = ask(added, begin, added_at);
    for (u64 base = (u64)blockIdx.x * blockDim.y; base < all; base += step) {
        const u64 index = base + threadIdx.y;
        float a[GROUP], z[GROUP], g[GROUP], old[GROUP];
        const uint4 added_bits = added_ahead;
        unpack_group(a, x_ahead), unpack_group(z, dy_ahead), unpack_group(g, gains);
        x_ahead = ask(x, index + step, from), dy_ahead = ask(dy, index + step, to);
        if (kept) added_ahead = ask(added, index + step, added_at);
#pragma unroll
        for (int i = 0; i < GROUP; i++) z[i] = z[i] * g[i];
        Sums sums = with_group(Sums{0.0f, 0.0f}, a, z);
        float2 both = sums_over_x(make_float2(sums.squares, sums.products), scratch);
        float r = reciprocal(both.x, from.size, epsilon), shift = both.y * r * r * r / (float)from.size;
        if (index >= all) continue;
        if (reciprocals && threadIdx.x == 0) reciprocals[index] = r;
        if (!own) continue;
        unpack_group(old, added_bits);
        put_gradient(dx + head_at(index, dx_at) + first, kept, old, a, z, r, shift, GROUP);
    }
}

// The same two for many heads of whole groups that begin at multiples of 16 bytes: a warp takes a head, with
// the numbers that WARPS warps would have, and adds their sums as these would. Nobody waits for others, and all
// loads of a head are on their way at once.

template <int WARPS> struct Bits {
    uint4 of[WARPS];
    __device__ __forceinline__ void load(const bf16 *from, u64 size) {
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++)
            of[warp] = place(warp) < size ? *(const uint4 *)(from + place(warp)) : make_uint4(0, 0, 0, 0);
    }
    static __device__ __forceinline__ u64 place(int warp) { return (u64)(warp * 32 + threadIdx.x % 32) * GROUP; }
};

template <int WARPS> __device__ __forceinline__ float sum_as_by_warps(float *sums) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++) sums[warp] += __shfl_xor_sync(~0u, sums[warp], distance);
    return sum_of_warps(sums, WARPS);
}

__device__ __forceinline__ u64 head_of_warp() { return (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; }

template <int WARPS>
__device__ __forceinline__ void forward_by_warp(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    const u64 index = head_of_warp(), size = from.size;
    let_next_kernel_begin();
    wait_for_kernels_before();
    if (index >= from.rows * from.heads) return;
    Bits<WARPS> bits;
    bits.load(x + head_at(index, from), size);
    y += head_at(index, to);
    float a[GROUP], g[GROUP], sums[WARPS];
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) {
        unpack_group(a, bits.of[warp]);
        sums[warp] = sum_of_squares(a, 0.0f);
    }
    const float r = reciprocal(sum_as_by_warps<WARPS>(sums), size, epsilon);
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) {
        const u64 at = bits.place(warp);
        if (at >= size) break;
        unpack_group(a, bits.of[warp]), unpack_group(g, *(const uint4 *)(gain + at));
        scaled(y + at, a, g, r, GROUP);
    }
}

KERNEL_OF(256, 3) rms_norm_forward_warp_4(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    forward_by_warp<4>(y, to, x, from, gain, epsilon);
}
KERNEL_OF(256, 3) rms_norm_forward_warp_8(bf16 *y, Shape to, const bf16 *x, Shape from, const bf16 *gain, float epsilon) {
    forward_by_warp<8>(y, to, x, from, gain, epsilon);
}

// What the backward pass reads and writes, and y once more if there is room for it.
struct Back {
    bf16 *dx, *y;
    const bf16 *added, *x, *dy, *gain;
    Shape dx_at, y_at, added_at, from, to;
    float epsilon;
    float *reciprocals;
};

template <int WARPS> __device__ __forceinline__ void backward_by_warp(Back back) {
    const u64 index = head_of_warp(), size = back.from.size;
    const int kept = back.added != 0;
    let_next_kernel_begin();
    wait_for_kernels_before();
    if (index >= back.from.rows * back.from.heads) return;
    Bits<WARPS> x, dy, added;
    x.load(back.x + head_at(index, back.from), size), dy.load(back.dy + head_at(index, back.to), size);
    if (kept) added.load(back.added + head_at(index, back.added_at), size);
    float a[GROUP], z[GROUP], g[GROUP], old[GROUP], squares[WARPS], products[WARPS];
    auto load_own = [&](int warp) {
        unpack_group(a, x.of[warp]), unpack_group(z, dy.of[warp]);
        unpack_group(g, x.place(warp) < size ? *(const uint4 *)(back.gain + x.place(warp)) : make_uint4(0, 0, 0, 0));
#pragma unroll
        for (int i = 0; i < GROUP; i++) z[i] = z[i] * g[i];
    };
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) {
        load_own(warp);
        Sums sums = with_group(Sums{0.0f, 0.0f}, a, z);
        squares[warp] = sums.squares, products[warp] = sums.products;
    }
    const float r = reciprocal(sum_as_by_warps<WARPS>(squares), size, back.epsilon);
    const float shift = sum_as_by_warps<WARPS>(products) * r * r * r / (float)size;
    bf16 *dx = back.dx + head_at(index, back.dx_at), *y = back.y + head_at(index, back.y_at);
#pragma unroll
    for (int warp = 0; warp < WARPS; warp++) {
        const u64 at = x.place(warp);
        if (at >= size) break;
        load_own(warp);
        if (kept) unpack_group(old, added.of[warp]);
        put_gradient(dx + at, kept, old, a, z, r, shift, GROUP);
        if (back.y) scaled(y + at, a, g, r, GROUP);
    }
    if (back.reciprocals && threadIdx.x % 32 == 0) back.reciprocals[index] = r;
}

KERNEL_OF(128, 3) rms_norm_backward_warp_4(bf16 *dx, Shape dx_at, const bf16 *added, Shape added_at, const bf16 *x, Shape from,
                                           const bf16 *dy, Shape to, const bf16 *gain, float epsilon, float *reciprocals, bf16 *y,
                                           Shape y_at) {
    backward_by_warp<4>({dx, y, added, x, dy, gain, dx_at, y_at, added_at, from, to, epsilon, reciprocals});
}
KERNEL_OF(128, 3) rms_norm_backward_warp_8(bf16 *dx, Shape dx_at, const bf16 *added, Shape added_at, const bf16 *x, Shape from,
                                           const bf16 *dy, Shape to, const bf16 *gain, float epsilon, float *reciprocals, bf16 *y,
                                           Shape y_at) {
    backward_by_warp<8>({dx, y, added, x, dy, gain, dx_at, y_at, added_at, from, to, epsilon, reciprocals});
}

// dg += Σ dy · x · r: within each sequence from zero, then added. A block has 32 places of a head
// and eight rows of threads; a sequence's heads are dealt to them in turn and their sums joined in
// one order.
KERNEL rms_norm_gain(float *dgain, const u32 *offsets, u32 sequences, const bf16 *x, Shape from,
                     const bf16 *dy, Shape to, const float *reciprocals) {
    __shared__ float sums[8][33];
    u64 place = (u64)blockIdx.x * 32 + threadIdx.x;
    bool there = place < from.size;
    float total = there && threadIdx.y == 0 ? dgain[place] : 0.0f;
    for (u32 sequence = 0; sequence < sequences; sequence++) {
        u64 end = offsets[sequence + 1] * from.heads;
        float sum = 0.0f;
        for (u64 index = offsets[sequence] * from.heads + threadIdx.y; there && index < end; index += 8)
            sum += load(dy + head_at(index, to) + place) * load(x + head_at(index, from) + place) * reciprocals[index];
        sums[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        for (int half = 4; half > 0; half /= 2) {
            if (threadIdx.y < half) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
            __syncthreads();
        }
        total += sums[0][threadIdx.x];
        __syncthreads();
    }
    if (there && threadIdx.y == 0) dgain[place] = total;
}
