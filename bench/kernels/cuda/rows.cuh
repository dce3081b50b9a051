#pragma once

static __device__ float warpSum(float s)
{
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d);
	return s;
}

static __device__ float warpMax(float m)
{
	for (int d = 16; d > 0; d /= 2)
		m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
	return m;
}

// Returns the sum of a block's numbers to all of its threads. A kernel calls it once.
template <int threads> static __device__ float blockSumToAll(float s)
{
	__shared__ float sums[32];
	int lane = threadIdx.x % 32;
	s = warpSum(s);
	if (lane == 0)
		sums[threadIdx.x / 32] = s;
	__syncthreads();
	s = lane < threads / 32 ? sums[lane] : 0;
	return warpSum(s);
}

// Returns the largest number of a block to all of its threads. A kernel calls it once.
template <int threads> static __device__ float blockMaxToAll(float m)
{
	__shared__ float maxima[32];
	int lane = threadIdx.x % 32;
	m = warpMax(m);
	if (lane == 0)
		maxima[threadIdx.x / 32] = m;
	__syncthreads();
	m = lane < threads / 32 ? maxima[lane] : __int_as_float(0xff800000);
	return warpMax(m);
}
