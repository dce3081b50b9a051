// Clocks and waiting: what they say varies, that they go on does not.

//@ ticks<<<1, 32>>>(ticks i64[32] zero ?, ok u32[32] zero)
extern "C" __global__ void ticks(long long *ticks, unsigned *ok) {
    long long before = clock64();
    unsigned low = clock();
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    __nanosleep(100);
    ticks[threadIdx.x] = clock64() - before;
    ok[threadIdx.x] = (clock64() > before) | (time != 0) << 1 | (low - clock() != 0) << 2;
}

//@ where<<<4, 32>>>(sm u32[4] zero ?, ok u32[4] zero)
extern "C" __global__ void where(unsigned *sm, unsigned *ok) {
    unsigned id, count, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    asm("mov.u32 %0, %%nsmid;" : "=r"(count));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    sm[blockIdx.x] = id;
    ok[blockIdx.x] = id < count && warp < 64;
}
