// What kernels share that continue the sums of a product with those of an adapter, as `fused_linear.cu` says.

// Columns of B in shared memory at a time, and numbers between rows there, which lie in other banks for the 8 rows
// of a tile of the tensor core.
#define DEPTH 64
#define PITCH (DEPTH + 8)

// Columns of u, from one multiple of 16 to another.
struct Range {
    u32 begin, end;
    __device__ __forceinline__ u32 chunks() const { return (end - begin + DEPTH - 1) / DEPTH; }
};

// Those that outputs use from one to another. A part is outputs that share an adapter: where they end (they
// begin where those before end), and in the upper half of the word where their columns begin and end.
__device__ __forceinline__ Range range_of(const Words &parts, u32 first, u32 last) {
    u32 begin = ~0u, end = 0, from = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 until = (u32)parts.at[i], columns = (u32)(parts.at[i] >> 32);
        const bool is_used = first < until && last >= from && (columns & 0xffff) < columns >> 16;
        if (is_used) begin = min(begin, columns & 0xffff), end = max(end, columns >> 16);
        from = until;
    }
    return begin < end ? Range{begin / 16 * 16, (end + 15) / 16 * 16} : Range{0, 0};
}

__device__ __forceinline__ uint2 scaled_group(float scale, float4 x) {
    return make_uint2(rounded_pair(scale * x.x, scale * x.y), rounded_pair(scale * x.z, scale * x.w));
}

