// Kernels on numbers of 16 bits. halves.ptx is written by hand from this.
#include <cuda_fp16.h>
#include <cuda_bf16.h>

// Affine is a line: y = a x + b.
struct Affine {
    __half a, b;
};

// Line replaces each number by what the line has there.
extern "C" __global__ void half_line(__half *x, Affine line, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = __hfma(x[i], line.a, line.b);
}

// Widen copies numbers to float, times a number.
extern "C" __global__ void bf16_widen(const __nv_bfloat16 *x, float *y, __nv_bfloat16 by, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __bfloat162float(x[i]) * __bfloat162float(by);
}
