// The forms of wgmma that kernels for Hopper use: d [+]= a · b for 64 rows, 16 numbers at a time. An
// operand in shared memory is given by its descriptor.

// 64 columns; a and b from shared memory, what is summed along their rows; d is not read.
__device__ __forceinline__ void wgmma_64_first(float (&d)[32], u64 a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
                 "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
                 "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]),
                 "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]),
                 "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]), "=f"(d[25]),
                 "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
                 : "l"(a), "l"(b));
}

// The same, added to d.
__device__ __forceinline__ void wgmma_64(float (&d)[32], u64 a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
                 "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                 "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                 "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

// 64 columns; a and b from shared memory, what is summed across the rows of both; added to d.
__device__ __forceinline__ void wgmma_64_across(float (&d)[32], u64 a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
                 "}, %32, %33, p, 1, 1, 1, 1;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                 "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                 "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "l"(a), "l"(b));
}

// 64 columns; a from registers; d is not read.
__device__ __forceinline__ void wgmma_held_64_first(float (&d)[32], const u32 *a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
                 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}\n"
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
                 "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]),
                 "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]),
                 "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]), "=f"(d[25]),
                 "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// The same, added to d.
__device__ __forceinline__ void wgmma_held_64(float (&d)[32], const u32 *a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
                 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 0;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                 "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                 "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// 128 columns; a from registers, what is summed across the rows of b.
__device__ __forceinline__ void wgmma_held_128(float (&d)[64], const u32 *a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,"
                 "%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,"
                 "%60,%61,%62,%63"
                 "}, {%64,%65,%66,%67}, %68, p, 1, 1, 1;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                 "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                 "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]),
                 "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
                 "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
                 "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),
                 "+f"(d[62]), "+f"(d[63])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// 136 columns, otherwise the same.
__device__ __forceinline__ void wgmma_held_136(float (&d)[68], const u32 *a, u64 b) {
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16 {"
                 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,"
                 "%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,"
                 "%60,%61,%62,%63,%64,%65,%66,%67"
                 "}, {%68,%69,%70,%71}, %72, p, 1, 1, 1;\n}\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
                 "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                 "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
                 "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                 "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]),
                 "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
                 "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
                 "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                 "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),
                 "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until no more than LEFT groups are on their way.
template <int LEFT> __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// How rows of heads of one sequence lie; the driver makes it. Rows behind the end read as zeros.
struct __align__(64) TensorMap {
    u64 words[16];
};

// The host has written the map before the launch.
__device__ __forceinline__ void see_map(const TensorMap *map) {
    asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}

// 64 rows of a head of 128 numbers into a tile: two panels of 64 numbers.
#define PANEL_BYTES 8192
#define TILE_BYTES 16384
__device__ __forceinline__ void load_panel(u32 to, const TensorMap *map, u32 barrier, int column, int head, int row) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(column), "r"(head), "r"(row)
                 : "memory");
}
__device__ __forceinline__ void load_head(u32 to, const TensorMap *map, u32 barrier, int head, int row) {
    load_panel(to, map, barrier, 0, head, row);
    load_panel(to + PANEL_BYTES, map, barrier, 64, head, row);
}

// The descriptor of a tile whose rows are rows or columns of a product, from number 16 · k on.
__device__ __forceinline__ u64 along_rows(u32 tile, int k) {
    u32 at = tile + (k >> 2) * PANEL_BYTES + (k & 3) * 32;
    return (u64)((at & 0x3FFFFu) >> 4) | 1ull << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
// The descriptor of a tile whose rows are summed, from row 16 · k on.
__device__ __forceinline__ u64 across_rows(u32 tile, int k) {
    u32 at = tile + k * 16 * 128;
    return (u64)((at & 0x3FFFFu) >> 4) | (u64)(PANEL_BYTES >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

// What is the same in all threads of a warp, said to the compiler: descriptors that follow from it live in
// uniform registers.
__device__ __forceinline__ int uniform(int x) { return __shfl_sync(~0u, x, 0); }

// A tile's rows as the first operand, 16 rows a warp.
__device__ __forceinline__ void hold_rows(u32 (&a)[8][4], u32 tile) {
    int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 16, half = threadIdx.x % 32 / 16;
#pragma unroll
    for (int k = 0; k < 8; k++)
        load_tiles(a[k], tile + k / 4 * PANEL_BYTES + row * 128 + (((k % 4 * 2 + half) ^ (row & 7)) << 4));
}

// A thread's two rows of 128 numbers, each times a factor, rounded. The four threads that share a row
// exchange parts, so that each writes 16 bytes; `row` is the thread's first row, of `rows` that there are.
__device__ __forceinline__ void put_rows(bf16 *to, u64 stride, const float *d, const float *factor, int row, int rows) {
    int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        bf16 *at = to + (u64)(row + half * 8) * stride + t * 8;
#pragma unroll
        for (int j = 0; j < 16; j += 4) {
            u32 v[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                v[i] = rounded_pair(d[4 * (j + i) + 2 * half] * factor[half], d[4 * (j + i) + 2 * half + 1] * factor[half]);
            // A transpose of 4 by 4: v[i] was part t of columns j + i, and is part i of columns j + t.
            u32 x = __shfl_xor_sync(~0u, t & 1 ? v[0] : v[1], 1), y = __shfl_xor_sync(~0u, t & 1 ? v[2] : v[3], 1);
            if (t & 1) v[0] = x, v[2] = y;
            else v[1] = x, v[3] = y;
            x = __shfl_xor_sync(~0u, t & 2 ? v[0] : v[2], 2), y = __shfl_xor_sync(~0u, t & 2 ? v[1] : v[3], 2);
            if (t & 2) v[0] = x, v[1] = y;
            else v[2] = x, v[3] = y;
            if (row + half * 8 < rows) *(uint4 *)(at + j * 8) = make_uint4(v[0], v[1], v[2], v[3]);
        }
    }
}

// Heads of a model, and some rows of a sequence: its number among the maps, where it begins, how long it is,
// the first of the rows, and where the sequence begins among rows in whole tiles of 64.
struct Heads {
    u64 heads, kv_heads, at_once, size;
};
struct Work {
    u32 sequence, begin, length, first, padded, unused[3];
};
__device__ __forceinline__ Work uniform(const Work &work) {
    return Work{(u32)uniform(work.sequence), (u32)uniform(work.begin), (u32)uniform(work.length), (u32)uniform(work.first),
                (u32)uniform(work.padded)};
}

// A block has two warpgroups that compute and one warp that loads.
#define CONSUMERS 2
#define BLOCK_THREADS 384
#define GIVE_REGISTERS asm volatile("setmaxnreg.dec.sync.aligned.u32 24;")
#define TAKE_REGISTERS asm volatile("setmaxnreg.inc.sync.aligned.u32 240;")
