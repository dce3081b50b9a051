// Returns, to the first lane of a warp, the largest number of the first 2*from lanes.
static __device__ void largest(float &best, unsigned &at, int from)
{
#pragma unroll
	for (int d = from; d > 0; d /= 2) {
		float v = __shfl_down_sync(0xffffffff, best, d);
		unsigned i = __shfl_down_sync(0xffffffff, at, d);
		if (v > best || (v == best && i < at)) {
			best = v;
			at = i;
		}
	}
}

extern "C" __global__ void __launch_bounds__(256)
ArgMax(unsigned long long *__restrict__ out, const float *__restrict__ x, int n)
{
	__shared__ float bests[8];
	__shared__ unsigned ats[8];
	float best = __int_as_float(0xff800000);
	unsigned at = 0;
	int n4 = n / 4;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
		float4 u = ((const float4 *)x)[i];
		float v[4] = {u.x, u.y, u.z, u.w};
#pragma unroll
		for (int j = 0; j < 4; j++)
			if (v[j] > best) {
				best = v[j];
				at = 4 * i + j;
			}
	}
	int i = 4 * n4 + blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && x[i] > best) {
		best = x[i];
		at = i;
	}
	largest(best, at, 16);
	if (threadIdx.x % 32 == 0) {
		bests[threadIdx.x / 32] = best;
		ats[threadIdx.x / 32] = at;
	}
	__syncthreads();
	if (threadIdx.x < 8) {
		best = bests[threadIdx.x];
		at = ats[threadIdx.x];
	}
	largest(best, at, 4);
	if (threadIdx.x == 0) {
		unsigned bits = __float_as_uint(best);
		bits = bits & 0x80000000 ? ~bits : bits | 0x80000000;
		atomicMax(out, (unsigned long long)bits << 32 | (unsigned)~at);
	}
}
