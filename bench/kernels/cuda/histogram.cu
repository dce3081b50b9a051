extern "C" __global__ void __launch_bounds__(256)
Histogram(unsigned *__restrict__ counts, const unsigned *__restrict__ words, int n)
{
	__shared__ unsigned parts[8][256];
#pragma unroll
	for (int w = 0; w < 8; w++)
		parts[w][threadIdx.x] = 0;
	__syncthreads();
	unsigned *mine = parts[threadIdx.x / 32];
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		unsigned v = words[i];
		atomicAdd(&mine[v & 255], 1);
		atomicAdd(&mine[v >> 8 & 255], 1);
		atomicAdd(&mine[v >> 16 & 255], 1);
		atomicAdd(&mine[v >> 24], 1);
	}
	__syncthreads();
	unsigned sum = 0;
#pragma unroll
	for (int w = 0; w < 8; w++)
		sum += parts[w][threadIdx.x];
	atomicAdd(&counts[threadIdx.x], sum);
}
