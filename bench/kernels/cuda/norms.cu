#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(256)
LayerNorm(float *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd, const float *__restrict__ x,
	const float *__restrict__ weight, const float *__restrict__ bias, int n, int rows)
{
	int r = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (r >= rows)
		return;
	const float *row = x + r * n;
	float *y = out + r * n;
	float sum = 0;
	for (int i = lane; i < n; i += 32)
		sum += row[i];
	float m = warpSum(sum) / n;
	sum = 0;
	for (int i = lane; i < n; i += 32) {
		float d = row[i] - m;
		sum += d * d;
	}
	float s = rsqrtf(warpSum(sum) / n + 1e-5f);
	if (lane == 0) {
		__stcs(mean + r, m);
		__stcs(rstd + r, s);
	}
	for (int i = lane; i < n; i += 32) {
		float v = s * (__ldcs(row + i) - m);
		__stcs(y + i, v * weight[i] + bias[i]);
	}
}

extern "C" __global__ void __launch_bounds__(1024)
RMSNorm(float *__restrict__ out, const float *__restrict__ x, int n, float eps)
{
	const float *row = x + blockIdx.x * n;
	float *y = out + blockIdx.x * n;
	float sum = 0;
	for (int i = threadIdx.x; i < n; i += 1024)
		sum += row[i] * row[i];
	float scale = rsqrtf(blockSumToAll<1024>(sum) / n + eps);
	for (int i = threadIdx.x; i < n; i += 1024)
		y[i] = scale * row[i];
}
