// Code that tests of images load: one kernel with plain arguments and one with
// a struct by value. What it adds says which variant runs.
struct affine { float a; unsigned char tag; double b; };

extern "C" __global__ void variant(unsigned *out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef __CUDA_ARCH__
    if (i < n)
        out[i] = __CUDA_ARCH__ + i;
#endif
}

extern "C" __global__ void shape(double *out, affine f, const double *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = f.a * x[i] + f.b + f.tag;
}
