#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(1024)
CrossEntropy(float *__restrict__ loss, float *__restrict__ gradient, const float *__restrict__ logits, const int *__restrict__ targets, int n)
{
	int r = blockIdx.x;
	const float *row = logits + r * n;
	float *out = gradient + r * n;

	float most = __int_as_float(0xff800000), sum = 0;
	for (int i = n - 1 - (int)threadIdx.x; i >= 0; i -= 1024) {
		float v = row[i], before = most;
		most = fmaxf(most, v);
		sum = sum * expf(before - most) + expf(v - most);
	}
	float all = blockMaxToAll<1024>(most);
	float scale = 1 / blockSumToAll<1024>(sum * expf(most - all));

	int target = targets[r];
	if (threadIdx.x == 0)
		loss[r] = -logf(expf(row[target] - all) * scale);
	float each = 1.0f / gridDim.x;
	for (int i = threadIdx.x; i < n; i += 1024) {
		float p = expf(__ldcs(row + i) - all) * scale;
		if (i == target)
			p -= 1;
		out[i] = p * each;
	}
}
