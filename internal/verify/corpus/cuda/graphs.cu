// Searches in graphs: breadth first, all shortest paths, components.

//@ breadth<<<1, 64>>>(edges u8[256] range(0,64), depth i32[64] const(-1))
extern "C" __global__ void breadth(const unsigned char *edges, int *depth) {
    __shared__ int changed;
    int t = threadIdx.x;
    if (t == 0) depth[0] = 0;
    __syncthreads();
    for (int level = 0;; level++) {
        if (t == 0) changed = 0;
        bool mine = depth[t] == level;
        __syncthreads();
        if (mine)
            for (int e = 0; e < 4; e++) {
                int to = edges[t * 4 + e];
                if (atomicCAS(&depth[to], -1, level + 1) == -1) changed = 1;
            }
        __syncthreads();
        if (!changed) break;
        __syncthreads();
    }
}

//@ shortest<<<1, 16x16>>>(d i32[256] range(1,100))
extern "C" __global__ void shortest(int *d) {
    int i = threadIdx.y * 16 + threadIdx.x;
    for (int k = 0; k < 16; k++) {
        int via = d[threadIdx.y * 16 + k] + d[k * 16 + threadIdx.x];
        __syncthreads();
        if (via < d[i]) d[i] = via;
        __syncthreads();
    }
}

//@ components<<<1, 128>>>(a u8[128] range(0,100), b u8[128] range(0,100), parent i32[100] ramp)
extern "C" __global__ void components(const unsigned char *a, const unsigned char *b, int *parent) {
    volatile int *p = parent;
    int x = a[threadIdx.x], y = b[threadIdx.x];
    while (true) {
        while (p[x] != x) x = p[x];
        while (p[y] != y) y = p[y];
        if (x == y) break;
        if (x < y) { int s = x; x = y; y = s; }
        if (atomicCAS(&parent[x], x, y) == x) break;
    }
    __syncthreads();
    if (threadIdx.x < 100) {
        int r = threadIdx.x;
        while (p[r] != r) r = p[r];
        __syncwarp(__activemask());
        parent[threadIdx.x] = r;
    }
}
