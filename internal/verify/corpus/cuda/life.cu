// The game of life, in bytes and with 64 cells in a word.

//@ cells<<<2x2, 16x16>>>(in u8[1024] range(0,2), out u8[1024] zero, n i32 32)
extern "C" __global__ void cells(const unsigned char *in, unsigned char *out, int n) {
    __shared__ unsigned char s[18][18];
    int x0 = blockIdx.x * 16, y0 = blockIdx.y * 16;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
        int x = (x0 + i % 18 - 1 + n) % n, y = (y0 + i / 18 - 1 + n) % n;
        s[i / 18][i % 18] = in[y * n + x];
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    int c = s[y - 1][x - 1] + s[y - 1][x] + s[y - 1][x + 1] + s[y][x - 1] + s[y][x + 1] + s[y + 1][x - 1] + s[y + 1][x] + s[y + 1][x + 1];
    out[(y0 + y - 1) * n + x0 + x - 1] = c == 3 || (c == 2 && s[y][x]);
}

__device__ unsigned long long turn(unsigned long long v, int by) { return v << by | v >> (64 - by); }

//@ words<<<1, 64>>>(board u64[64] random, steps i32 10)
extern "C" __global__ void words(unsigned long long *board, int steps) {
    __shared__ unsigned long long s[64];
    int y = threadIdx.x;
    unsigned long long v = board[y];
    while (steps-- > 0) {
        s[y] = v;
        __syncthreads();
        unsigned long long ones = 0, twos = 0, fours = 0;
        for (int d = -1; d <= 1; d++) {
            unsigned long long r = s[(y + d) & 63];
            unsigned long long add[3] = {turn(r, 1), d ? r : 0, turn(r, 63)};
            for (int i = 0; i < 3; i++) {
                unsigned long long c = ones & add[i];
                ones ^= add[i];
                fours |= twos & c;
                twos ^= c;
            }
        }
        v = twos & ~fours & (ones | v);
        __syncthreads();
    }
    board[y] = v;
}
