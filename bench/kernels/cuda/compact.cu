extern "C" __global__ void __launch_bounds__(256)
Compact(float *__restrict__ ring, unsigned *__restrict__ count, const float *__restrict__ x, float limit, int length, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float v = x[i];
	if (v > limit) {
		unsigned mask = __activemask(), at = 0;
		int lane = threadIdx.x % 32, leader = __ffs(mask) - 1;
		if (lane == leader)
			at = atomicAdd(count, __popc(mask));
		at = __shfl_sync(mask, at, leader);
		at += __popc(mask & ((1u << lane) - 1));
		ring[at & (length - 1)] = v;
	}
}
