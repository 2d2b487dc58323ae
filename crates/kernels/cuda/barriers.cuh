// Barriers in shared memory, which count arrivals of threads and bytes of copies, and copies that arrive at
// them. For Hopper.

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
    asm volatile("{\n.reg .pred P1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity)
                 : "memory");
}

// A barrier is ready before any thread uses it, once the threads of the block have met.
__device__ __forceinline__ void barriers_are_ready() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// What threads wrote to shared memory is there before copies that follow.
__device__ __forceinline__ void before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Bytes, a multiple of 16, from global into shared memory; they arrive at the barrier.
__device__ __forceinline__ void copy_bytes(u32 to, const void *from, u32 bytes, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from),
                 "r"(bytes), "r"(barrier)
                 : "memory");
}

// The same for what is read once: in the L2 cache it makes room before other things do.
__device__ __forceinline__ void copy_bytes_once(u32 to, const void *from, u32 bytes, u32 barrier) {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}
