// One block sorts by four bits at a time, with counts by ballots.

//@ radix_sort<<<1, 256>>>(keys u32[256] random, values u32[256] ramp)
extern "C" __global__ __launch_bounds__(256) void radix_sort(unsigned *keys, unsigned *values) {
    __shared__ unsigned k[256], v[256], counts[8], zeros;
    int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned key = keys[t], value = values[t];
    for (int bit = 0; bit < 32; bit++) {
        unsigned one = key >> bit & 1;
        unsigned ones = __ballot_sync(~0u, one);
        if (lane == 0) counts[warp] = 32 - __popc(ones);
        __syncthreads();
        unsigned before = 0, total = 0;
        #pragma unroll
        for (int w = 0; w < 8; w++) {
            if (w == warp) before = total;
            total += counts[w];
        }
        if (t == 0) zeros = total;
        __syncthreads();
        unsigned rank = __popc(~ones & ((1u << lane) - 1)) + before;
        unsigned to = one ? zeros + t - rank : rank;
        k[to] = key;
        v[to] = value;
        __syncthreads();
        key = k[t];
        value = v[t];
    }
    keys[t] = key;
    values[t] = value;
}
