#include "rows.cuh"

extern "C" __global__ void __launch_bounds__(256)
Softmax(float *__restrict__ out, const float *__restrict__ x, int n)
{
	const float *row = x + blockIdx.x * n;
	float *y = out + blockIdx.x * n;
	float most = __int_as_float(0xff800000);
	for (int i = threadIdx.x; i < n; i += 256)
		most = fmaxf(most, row[i]);
	most = blockMaxToAll<256>(most);
	float sum = 0;
	for (int i = threadIdx.x; i < n; i += 256) {
		float e = expf(row[i] - most);
		y[i] = e;
		sum += e;
	}
	sum = blockSumToAll<256>(sum);
	for (int i = threadIdx.x; i < n; i += 256)
		y[i] /= sum;
}
