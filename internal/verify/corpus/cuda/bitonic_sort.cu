// Bitonic sorting networks: in shared memory, and of a warp's registers.

template <class T> __device__ void order(T &a, T &b, bool up) {
    if ((a > b) == up) { T x = a; a = b; b = x; }
}

template <class T> __device__ void sortShared(T *data, int n) {
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                int other = i ^ j;
                if (other > i) order(data[i], data[other], (i & k) == 0);
            }
            __syncthreads();
        }
}

//@ sort_f32<<<1, 128>>>(data f32[512] random)
extern "C" __global__ void sort_f32(float *data) {
    __shared__ float s[512];
    for (int i = threadIdx.x; i < 512; i += blockDim.x) s[i] = data[i];
    __syncthreads();
    sortShared(s, 512);
    for (int i = threadIdx.x; i < 512; i += blockDim.x) data[i] = s[i];
}

//@ sort_i16<<<1, 64>>>(data i16[256] random)
extern "C" __global__ void sort_i16(short *data) {
    sortShared(data, 256);
}

//@ sort_warp<<<2, 64>>>(data u64[128] random)
extern "C" __global__ void sort_warp(unsigned long long *data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i & 31;
    unsigned long long v = data[i];
    for (int k = 2; k <= 32; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            unsigned long long o = __shfl_xor_sync(~0u, v, j);
            bool keepMin = ((lane & j) == 0) == ((lane & k) == 0);
            v = keepMin ? (v < o ? v : o) : (v > o ? v : o);
        }
    data[i] = v;
}
