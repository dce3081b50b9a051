// Tables that are filled row by row or diagonal by diagonal.

//@ knapsack<<<1, 128>>>(weight u8[20] range(1,20), value u8[20] range(1,100), best u32[128] zero)
extern "C" __global__ void knapsack(const unsigned char *weight, const unsigned char *value, unsigned *best) {
    __shared__ unsigned row[2][128];
    int t = threadIdx.x, now = 0;
    row[0][t] = 0;
    __syncthreads();
    for (int i = 0; i < 20; i++, now ^= 1) {
        unsigned v = row[now][t];
        if (t >= weight[i]) v = max(v, row[now][t - weight[i]] + value[i]);
        row[now ^ 1][t] = v;
        __syncthreads();
    }
    best[t] = row[now][t];
}

//@ common<<<1, 48>>>(a u8[48] text(4), b u8[48] text(4), length u16[2401] zero)
extern "C" __global__ void common(const char *a, const char *b, unsigned short *length) {
    int i = threadIdx.x + 1;
    for (int diagonal = 2; diagonal <= 96; diagonal++) {
        int j = diagonal - i;
        if (j >= 1 && j <= 48) {
            unsigned short *at = length + i * 49 + j;
            *at = a[i - 1] == b[j - 1] ? at[-50] + 1 : max(at[-1], at[-49]);
        }
        __syncthreads();
    }
}

//@ align<<<1, 32>>>(query u8[32] text(4), text u8[1024] text(4), score i32[32] zero)
extern "C" __global__ void align(const char *query, const char *text, int *score) {
    // One text per lane, a column at a time.
    int h[33] = {}, best = 0;
    for (int i = 0; i < 32; i++) {
        int diagonal = 0;
        char c = text[threadIdx.x * 32 + i];
        for (int j = 1; j <= 32; j++) {
            int v = max(max(diagonal + (query[j - 1] == c ? 2 : -1), 0), max(h[j], h[j - 1]) - 1);
            diagonal = h[j];
            h[j] = v;
            best = max(best, v);
        }
    }
    score[threadIdx.x] = best;
}
