// Votes, matches and shuffles of all kinds, also in parts of a warp.

//@ votes<<<1, 64>>>(in i32[64] range(0,10), out u32[256] zero)
extern "C" __global__ void votes(const int *in, unsigned *out) {
    int v = in[threadIdx.x];
    unsigned *o = out + threadIdx.x * 4;
    o[0] = __ballot_sync(~0u, v > 4);
    o[1] = __any_sync(~0u, v == 9) | __all_sync(~0u, v < 10) << 1;
    if (v & 1) o[2] = __ballot_sync(__activemask(), v > 6);
    else o[2] = __popc(__activemask());
    o[3] = __uni_sync(~0u, v >= 0);
}

//@ matches<<<1, 64>>>(in i32[64] range(0,6), wide i64[64] range(0,2), out u32[192] zero)
extern "C" __global__ void matches(const int *in, const long long *wide, unsigned *out) {
    int all, t = threadIdx.x;
    out[t * 3] = __match_any_sync(~0u, in[t]);
    out[t * 3 + 1] = __match_any_sync(~0u, wide[t]);
    out[t * 3 + 2] = __match_all_sync(~0u, t / 32, &all) ^ all;
}

//@ shuffles<<<1, 32>>>(in f64[32] random, out f64[128] zero, pick i32[32] range(0,32))
extern "C" __global__ void shuffles(const double *in, double *out, const int *pick) {
    int t = threadIdx.x;
    out[t] = __shfl_sync(~0u, in[t], pick[t]);
    out[32 + t] = __shfl_up_sync(~0u, in[t], 3, 8);
    out[64 + t] = __shfl_down_sync(~0u, in[t], 5, 16);
    out[96 + t] = __shfl_xor_sync(~0u, in[t], 9);
}

//@ halves<<<1, 32>>>(in i32[32] random, out i32[32] zero)
extern "C" __global__ void halves(const int *in, int *out) {
    int t = threadIdx.x, v = in[t];
    if (t < 16) {
        for (int d = 8; d; d /= 2) v += __shfl_xor_sync(0xffff, v, d);
    } else {
        for (int d = 8; d; d /= 2) v = max(v, __shfl_xor_sync(0xffff0000, v, d));
    }
    __syncwarp();
    out[t] = v;
}

//@ reduced<<<1, 64>>>(in u32[64] random, out u32[256] zero) sm=80
extern "C" __global__ void reduced(const unsigned *in, unsigned *out) {
#if __CUDA_ARCH__ >= 800
    unsigned v = in[threadIdx.x], *o = out + threadIdx.x * 4;
    o[0] = __reduce_add_sync(~0u, v); o[1] = __reduce_max_sync(~0u, (int)v);
    o[2] = __reduce_and_sync(~0u, v | 0xffff0000); o[3] = __reduce_xor_sync(~0u, v);
#endif
}
