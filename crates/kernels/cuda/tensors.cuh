// Several tensors in one launch: a block finds the one that it works on.

// The last of `count` whose first block is not behind this one.
template <class T> __device__ __forceinline__ const T &tensor_of_block(const T *all, u32 count) {
    u32 low = 0, high = count;
    while (high - low > 1) {
        u32 middle = (low + high) / 2;
        if (all[middle].first_block <= blockIdx.x) low = middle;
        else high = middle;
    }
    return all[low];
}
