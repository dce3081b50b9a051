#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(256)
SpMV(float *__restrict__ y, const int *__restrict__ starts, const int *__restrict__ cols, const float *__restrict__ values,
	const float *__restrict__ x, int rows)
{
	int lane = threadIdx.x % 32;
	for (int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32; r < rows; r += gridDim.x * blockDim.x / 32) {
		int start = starts[r], end = starts[r + 1];
		float sum = 0;
		for (int i = start + lane; i < end; i += 32)
			sum += values[i] * x[cols[i]];
		sum = warpSum(sum);
		if (lane == 0)
			y[r] = sum;
	}
}
