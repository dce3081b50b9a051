// A device function and a variable that another image refers to.
__device__ unsigned scale_factor = 3;

extern "C" __device__ unsigned scale(unsigned x)
{
    return x * scale_factor;
}
