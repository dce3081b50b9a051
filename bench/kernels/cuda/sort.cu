extern "C" __global__ void __launch_bounds__(512)
BitonicSort(unsigned *__restrict__ sorted, const unsigned *__restrict__ keys, int n)
{
	__shared__ unsigned s[1024];
	unsigned tid = threadIdx.x;
	int first = 1024 * blockIdx.x + tid;
	s[tid] = first < n ? keys[first] : 0xffffffff;
	s[tid + 512] = first + 512 < n ? keys[first + 512] : 0xffffffff;
	for (unsigned size = 2; size <= 1024; size *= 2) {
		// Sequences of that size alternate in their order, and the last one ascends.
		bool descending = (tid & (size / 2)) != 0 && size < 1024;
		for (unsigned stride = size / 2; stride > 0; stride /= 2) {
			__syncthreads();
			unsigned i = 2 * tid - (tid & (stride - 1)), a = s[i], b = s[i + stride];
			if ((a > b) != descending) {
				s[i] = b;
				s[i + stride] = a;
			}
		}
	}
	__syncthreads();
	if (first < n)
		sorted[first] = s[tid];
	if (first + 512 < n)
		sorted[first + 512] = s[tid + 512];
}

extern "C" __global__ void __launch_bounds__(256)
Search(int *__restrict__ ranks, const unsigned *__restrict__ values, const unsigned *__restrict__ keys, int n, int keyCount, int half)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned v = values[i];
	int rank = 0;
	for (int step = half; step > 0; step /= 2) {
		int next = min(rank + step, keyCount);
		if (keys[next - 1] <= v)
			rank = next;
	}
	ranks[i] = rank;
}
