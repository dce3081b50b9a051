extern "C" __global__ void __launch_bounds__(256)
Dot(float *__restrict__ out, const float *__restrict__ a, const float *__restrict__ b, int n, int pairs)
{
	__shared__ float sums[1024];
	for (int p = blockIdx.x; p < pairs; p += gridDim.x) {
		const float *u = a + p * n, *v = b + p * n;
		for (int k = threadIdx.x; k < 1024; k += blockDim.x) {
			float s = 0;
			for (int i = k; i < n; i += 1024)
				s += u[i] * v[i];
			sums[k] = s;
		}
		for (int half = 512; half > 0; half /= 2) {
			__syncthreads();
			for (int k = threadIdx.x; k < half; k += blockDim.x)
				sums[k] += sums[k + half];
		}
		__syncthreads();
		if (threadIdx.x == 0)
			out[p] = sums[0];
	}
}
