// Instructions that are written out, with blocks, labels and registers of their own.

//@ carry<<<1, 32>>>(a u32[128] random, b u32[128] random, out u32[128] zero)
extern "C" __global__ void carry(const unsigned *a, const unsigned *b, unsigned *out) {
    const unsigned *x = a + threadIdx.x * 4, *y = b + threadIdx.x * 4;
    unsigned *o = out + threadIdx.x * 4;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]));
}

//@ bits<<<1, 64>>>(a u32[64] random, b u32[64] random, out u32[512] zero)
extern "C" __global__ void bits(const unsigned *a, const unsigned *b, unsigned *out) {
    unsigned x = a[threadIdx.x], y = b[threadIdx.x], *o = out + threadIdx.x * 8;
    asm("bfe.u32 %0, %1, 5, 11;" : "=r"(o[0]) : "r"(x));
    asm("bfi.b32 %0, %1, %2, 7, 9;" : "=r"(o[1]) : "r"(x), "r"(y));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(o[2]) : "r"(x), "r"(y), "r"(0x12345678));
    asm("prmt.b32 %0, %1, %2, 0x7251;" : "=r"(o[3]) : "r"(x), "r"(y));
    asm("shf.l.clamp.b32 %0, %1, %2, 37;" : "=r"(o[4]) : "r"(x), "r"(y));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(o[5]) : "r"(x));
    asm("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, %2;\n\tselp.u32 %0, %1, %2, p;\n\t}" : "=r"(o[6]) : "r"(x), "r"(y));
    asm("sad.u32 %0, %1, %2, 1;" : "=r"(o[7]) : "r"(x), "r"(y));
}

//@ looped<<<1, 32>>>(out u32[32] zero)
extern "C" __global__ void looped(unsigned *out) {
    unsigned n = threadIdx.x, s;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 i;\n\tmov.u32 i, %1;\n\tmov.u32 %0, 0;\n"
                 "again%=:\n\tsetp.eq.u32 p, i, 0;\n\t@p bra done%=;\n\tadd.u32 %0, %0, i;\n\tsub.u32 i, i, 1;\n\tbra again%=;\n"
                 "done%=:\n\t}" : "=r"(s) : "r"(n));
    out[threadIdx.x] = s;
}

//@ special<<<2, 64>>>(out u32[512] zero)
extern "C" __global__ void special(unsigned *out) {
    unsigned lane, lt, ge, warp, *o = out + (blockIdx.x * 64 + threadIdx.x) * 4;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    warp = threadIdx.x / warpSize;
    o[0] = lane; o[1] = lt; o[2] = ge; o[3] = warp + gridDim.x;
}

//@ vectors<<<1, 32>>>(in f32[128] random, out f32[128] zero)
extern "C" __global__ void vectors(const float *in, float *out) {
    float a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(in + threadIdx.x * 4));
    asm volatile("st.global.cs.v4.f32 [%0], {%1,%2,%3,%4};" :: "l"(out + threadIdx.x * 4), "f"(d), "f"(c), "f"(b), "f"(a) : "memory");
}
