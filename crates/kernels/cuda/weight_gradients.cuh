// What kernels of narrow weights' gradients share: what they are asked for, and how they walk over rows.

#define Q_COLUMNS 64

struct Job {
    float *to;
    const bf16 *p, *q;
    // From one i to the next, and from one j to the next.
    u64 i_stride, j_stride;
    u64 p_stride, q_stride;
    u64 p_columns, q_columns;
    u64 scale_bits;
    // The first block of this job.
    u64 first_block;
};

// The rows of sequences, some at a time from the beginning of each. What is looked at at every step is
// in registers.
template <u32 STAGE_ROWS> struct Walk {
    const u64 *offsets;
    u32 sequences, sequence, row, stop;
    __device__ __forceinline__ void skip_empty() {
        while (row >= stop && sequence < sequences) {
            sequence++;
            row = stop;
            if (sequence < sequences) stop = (u32)offsets[sequence + 1];
        }
    }
    __device__ __forceinline__ void begin(const u64 *all, u64 count) {
        offsets = all, sequences = (u32)count, sequence = 0, row = (u32)all[0];
        stop = count ? (u32)all[1] : row;
        skip_empty();
    }
    __device__ __forceinline__ bool over() const { return sequence >= sequences; }
    __device__ __forceinline__ bool last() const { return row + STAGE_ROWS >= stop; }
    __device__ __forceinline__ void next() {
        row += STAGE_ROWS;
        if (row >= stop) {
            row = stop;
            skip_empty();
        }
    }
};
