// A kernel whose function and variable are in another image.
extern __device__ unsigned scale_factor;
extern "C" __device__ unsigned scale(unsigned x);

extern "C" __global__ void scaled(unsigned *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = scale(i) + scale_factor;
}
