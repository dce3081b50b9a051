// x[i] = a * x[i] + b
extern "C" __global__ void affine(float *x, unsigned n, float a, float b)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = a * x[i] + b;
}
