// Substrings: naive, with a table of shifts, and edit distance.

//@ count_naive<<<2, 128>>>(text u8[1000] text(2), n i32 1000, pat u8[4] text(2), m i32 4, count u32[1] zero, first i32[1] const(2147483647))
extern "C" __global__ void count_naive(const char *text, int n, const char *pat, int m, unsigned *count, int *first) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i + m <= n; i += gridDim.x * blockDim.x) {
        int j = 0;
        while (j < m && text[i + j] == pat[j]) j++;
        if (j < m) continue;
        atomicAdd(count, 1);
        atomicMin(first, i);
    }
}

//@ horspool<<<1, 16>>>(text u8[1600] text(3), pat u8[3] text(3), m i32 3, count i32[16] zero)
extern "C" __global__ void horspool(const unsigned char *text, const unsigned char *pat, int m, int *count) {
    __shared__ unsigned char shift[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) shift[i] = m;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 0; i + 1 < m; i++) shift[pat[i]] = m - 1 - i;
    __syncthreads();
    const unsigned char *t = text + threadIdx.x * 100;
    int found = 0;
    for (int i = 0; i + m <= 100; i += shift[t[i + m - 1]]) {
        int j = m - 1;
        for (; j >= 0 && t[i + j] == pat[j]; j--) {}
        found += j < 0;
    }
    count[threadIdx.x] = found;
}

//@ distance<<<1, 32>>>(a u8[32] text(4), b u8[1024] text(4), out i32[32] zero)
extern "C" __global__ void distance(const char *a, const char *b, int *out) {
    short row[33];
    b += threadIdx.x * 32;
    for (int j = 0; j <= 32; j++) row[j] = j;
    for (int i = 1; i <= 32; i++) {
        short diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= 32; j++) {
            short up = row[j], v = diagonal + (a[i - 1] != b[j - 1]);
            v = min(v, (short)(min(up, row[j - 1]) + 1));
            diagonal = up;
            row[j] = v;
        }
    }
    out[threadIdx.x] = row[32];
}
