extern "C" __global__ void __launch_bounds__(256)
Scan(int *__restrict__ sums, const int *__restrict__ x, int n)
{
	__shared__ int warps[8];
	int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int4 v = {0, 0, 0, 0};
	if (i + 4 <= n) {
		v = *(const int4 *)(x + i);
	} else {
		if (i < n)
			v.x = x[i];
		if (i + 1 < n)
			v.y = x[i + 1];
		if (i + 2 < n)
			v.z = x[i + 2];
	}
	v.y += v.x;
	v.z += v.y;
	v.w += v.z;
	int s = v.w;
#pragma unroll
	for (int d = 1; d < 32; d *= 2) {
		int below = __shfl_up_sync(0xffffffff, s, d);
		if (lane >= d)
			s += below;
	}
	if (lane == 31)
		warps[warp] = s;
	__syncthreads();
	int before = s - v.w;
#pragma unroll
	for (int w = 0; w < 8; w++)
		if (w < warp)
			before += warps[w];
	v.x += before;
	v.y += before;
	v.z += before;
	v.w += before;
	if (i + 4 <= n) {
		*(int4 *)(sums + i) = v;
		return;
	}
	if (i < n)
		sums[i] = v.x;
	if (i + 1 < n)
		sums[i + 1] = v.y;
	if (i + 2 < n)
		sums[i + 2] = v.z;
}
