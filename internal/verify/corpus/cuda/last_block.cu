// Blocks that find out who is last, fences, volatile, a lock.

__device__ unsigned arrived;

//@ total<<<8, 64>>>(in i32[512] range(-100,100), part i32[8] zero, out i32[1] zero)
//@ total<<<8, 64>>>(in i32[512] range(-100,100), part i32[8] zero, out i32[1] zero)
//@ get arrived u32[1]
extern "C" __global__ void total(const int *in, volatile int *part, int *out) {
    __shared__ bool last;
    int v = in[blockIdx.x * 64 + threadIdx.x];
    v = __syncthreads_count(v > 0) * 1000 + __syncthreads_count(v & 1);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int s = 0;
        for (int i = 0; i < gridDim.x; i++) s += part[i];
        *out = s;
    }
}

__device__ int lock;
__device__ volatile int guarded[4];

//@ locked<<<4, 32>>>(rounds i32 3)
//@ get guarded i32[4]
extern "C" __global__ void locked(int rounds) {
    if (threadIdx.x != 0) return;
    for (int i = 0; i < rounds; i++) {
        while (atomicCAS(&lock, 0, 1) != 0) __nanosleep(20);
        __threadfence();
        for (int j = 0; j < 4; j++) guarded[j] = guarded[j] + j + 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

//@ agreed<<<1, 96>>>(in u8[96] range(0,2), out u32[3] zero)
extern "C" __global__ void agreed(const unsigned char *in, unsigned *out) {
    int all = __syncthreads_and(in[threadIdx.x] < 2), any = __syncthreads_or(in[threadIdx.x] > 1);
    int n = __syncthreads_count(in[threadIdx.x]);
    if (threadIdx.x == 0) { out[0] = all; out[1] = any; out[2] = n; }
}
