#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
Sum(float *__restrict__ out, const float *__restrict__ x, int n)
{
	float s = 0;
	int n4 = n / 4;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
		float4 v = ((const float4 *)x)[i];
		s += (v.x + v.y) + (v.z + v.w);
	}
	int i = 4 * n4 + blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		s += x[i];
	s = blockSum(s);
	if (threadIdx.x == 0)
		atomicAdd(out, s);
}
