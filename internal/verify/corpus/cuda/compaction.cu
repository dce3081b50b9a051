// Compaction, run lengths and merging: where to write depends on the others.

//@ positives<<<1, 128>>>(in i32[128] range(-5,6), out i32[128] zero, n i32[1] zero)
extern "C" __global__ void positives(const int *in, int *out, int *n) {
    __shared__ int base[4];
    int v = in[threadIdx.x], lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned keep = __ballot_sync(~0u, v > 0);
    if (lane == 0) base[warp] = __popc(keep);
    __syncthreads();
    int at = 0;
    for (int i = 0; i < warp; i++) at += base[i];
    at += __popc(keep & ~(~0u << lane));
    if (v > 0) out[at] = v;
    if (threadIdx.x == 127) *n = at + (v > 0);
}

//@ run_lengths<<<1, 32>>>(in u8[32] range(0,2), value u8[32] zero, length u8[32] zero)
extern "C" __global__ void run_lengths(const unsigned char *in, unsigned char *value, unsigned char *length) {
    int t = threadIdx.x, before = __shfl_up_sync(~0u, in[t], 1);
    bool starts = t == 0 || before != in[t];
    unsigned all = __ballot_sync(~0u, starts);
    if (starts) {
        int at = __popc(all & ((1u << t) - 1));
        unsigned later = t == 31 ? 0 : all & (~0u << (t + 1));
        value[at] = in[t];
        length[at] = (later ? __ffs(later) - 1 : 32) - t;
    }
}

//@ merge<<<1, 64>>>(a i32[40] ramp(0,3), b i32[24] ramp(1,5), out i32[64] zero, na i32 40, nb i32 24)
extern "C" __global__ void merge(const int *a, const int *b, int *out, int na, int nb) {
    int k = threadIdx.x, lo = max(0, k - nb), hi = min(k, na);
    while (lo < hi) {
        int i = (lo + hi) >> 1;
        if (a[i] <= b[k - 1 - i]) lo = i + 1;
        else hi = i;
    }
    int i = lo, j = k - lo;
    out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i] : b[j];
}

//@ lower_bound<<<1, 64>>>(sorted f32[100] ramp(-2,0.04), x f32[64] range(-3,3), at u32[64] zero, n u32 100)
extern "C" __global__ void lower_bound(const float *sorted, const float *x, unsigned *at, unsigned n) {
    unsigned lo = 0;
    for (unsigned half = n; half > 0;) {
        unsigned mid = half / 2;
        if (sorted[lo + mid] < x[threadIdx.x]) { lo += mid + 1; half -= mid + 1; }
        else half = mid;
    }
    at[threadIdx.x] = lo;
}
