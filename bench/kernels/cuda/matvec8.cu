#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(256)
MatVec8(float *__restrict__ y, const signed char *__restrict__ weights, const float *__restrict__ scales, const float *__restrict__ x,
	int n, int rows)
{
	int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (r >= rows)
		return;
	const signed char *row = weights + r * n;
	float sum = 0;
	for (int i = 4 * lane; i < n; i += 128) {
		char4 w = *(const char4 *)(row + i);
		float4 v = *(const float4 *)(x + i);
		sum += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
	}
	sum = warpSum(sum);
	if (lane == 0)
		y[r] = scales[r] * sum;
}
