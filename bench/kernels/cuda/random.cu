extern "C" __global__ void __launch_bounds__(256)
Philox(unsigned *__restrict__ out, unsigned key0, unsigned key1, int n)
{
	int thread = blockIdx.x * blockDim.x + threadIdx.x, i = 4 * thread;
	uint4 c = {(unsigned)thread, 0, 0, 0};
#pragma unroll
	for (int round = 0; round < 10; round++) {
		unsigned high0 = __umulhi(0xD2511F53, c.x), low0 = 0xD2511F53 * c.x;
		unsigned high1 = __umulhi(0xCD9E8D57, c.z), low1 = 0xCD9E8D57 * c.z;
		c = make_uint4(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
		key0 += 0x9E3779B9;
		key1 += 0xBB67AE85;
	}
	if (i + 4 <= n) {
		*(uint4 *)(out + i) = c;
		return;
	}
	if (i < n)
		out[i] = c.x;
	if (i + 1 < n)
		out[i + 1] = c.y;
	if (i + 2 < n)
		out[i + 2] = c.z;
}

extern "C" __global__ void __launch_bounds__(64)
Sobol(float *__restrict__ out, const unsigned *__restrict__ directions, int n)
{
	__shared__ unsigned v[32];
	out += n * blockIdx.y;
	if (threadIdx.x < 32)
		v[threadIdx.x] = directions[32 * blockIdx.y + threadIdx.x];
	__syncthreads();
	int i = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
	int logStride = __ffs(stride) - 1;
	unsigned x = 0, gray = i ^ i >> 1;
	for (int k = 0; k < logStride; k++)
		if (gray >> k & 1)
			x ^= v[k];
	unsigned low = v[logStride - 1];
	for (; i < n; i += stride) {
		out[i] = x * (1.0f / 4294967296.0f);
		// The next Gray code differs in bit logStride-1, and in the bit of the lowest zero above it.
		x ^= low ^ v[__ffs(~(i | (stride - 1))) - 1];
	}
}
