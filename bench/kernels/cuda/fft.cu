static __device__ float2 plus(float2 a, float2 b)
{
	return make_float2(a.x + b.x, a.y + b.y);
}

static __device__ float2 minus(float2 a, float2 b)
{
	return make_float2(a.x - b.x, a.y - b.y);
}

static __device__ float2 times(float2 a, float2 b)
{
	return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Transforms four numbers.
static __device__ void fft4(float2 v[4])
{
	float2 a = plus(v[0], v[2]), b = minus(v[0], v[2]), c = plus(v[1], v[3]), d = minus(v[1], v[3]);
	d = make_float2(d.y, -d.x);
	v[0] = plus(a, c);
	v[1] = plus(b, d);
	v[2] = minus(a, c);
	v[3] = minus(b, d);
}

extern "C" __global__ void __launch_bounds__(256)
FFT1024(float2 *__restrict__ out, const float2 *__restrict__ x, const float2 *__restrict__ roots)
{
	__shared__ float re[1024], im[1024];
	int tid = threadIdx.x;
	x += 1024 * blockIdx.x;
	out += 1024 * blockIdx.x;
	float2 v[4];
#pragma unroll
	for (int r = 0; r < 4; r++)
		v[r] = x[tid + 256 * r];
#pragma unroll
	for (int done = 1, step = 256; done <= 256; done *= 4, step /= 4) {
		int k = tid & (done - 1); // the index in a finished transform
		if (done > 1) {
#pragma unroll
			for (int r = 1; r < 4; r++)
				v[r] = times(v[r], roots[k * r * step]);
		}
		fft4(v);
		if (done == 256)
			break;
		__syncthreads();
		int first = 4 * (tid - k) + k;
#pragma unroll
		for (int r = 0; r < 4; r++) {
			re[first + r * done] = v[r].x;
			im[first + r * done] = v[r].y;
		}
		__syncthreads();
#pragma unroll
		for (int r = 0; r < 4; r++)
			v[r] = make_float2(re[tid + 256 * r], im[tid + 256 * r]);
	}
#pragma unroll
	for (int r = 0; r < 4; r++)
		out[tid + 256 * r] = v[r];
}
