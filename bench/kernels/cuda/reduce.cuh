#pragma once
// Returns, to thread 0, the sum of the numbers of a block of 256 threads.
static __device__ float blockSum(float s)
{
	__shared__ float sums[8];
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0)
		sums[threadIdx.x / 32] = s;
	__syncthreads();
	s = threadIdx.x < 8 ? sums[threadIdx.x] : 0;
	for (int d = 4; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d);
	return s;
}
