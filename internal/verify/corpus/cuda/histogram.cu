// Histograms with atomics: global, in shared memory, and aggregated per warp.

//@ direct<<<4, 128>>>(text u8[2000] text, bins u32[256] zero, n i32 2000)
extern "C" __global__ void direct(const unsigned char *text, unsigned *bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[text[i]], 1);
}

//@ privatised<<<3, 128>>>(text u8[2000] text(7), bins u32[256] zero, n i32 2000)
extern "C" __global__ void privatised(const unsigned char *text, unsigned *bins, int n) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[text[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (mine[i]) atomicAdd(&bins[i], mine[i]);
}

//@ aggregated<<<2, 96>>>(text u8[192] text(3), bins u32[256] zero)
extern "C" __global__ void aggregated(const unsigned char *text, unsigned *bins) {
    int c = text[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned same = __match_any_sync(~0u, c);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&bins[c], __popc(same));
}
