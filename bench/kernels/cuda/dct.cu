// Transforms eight numbers.
static __device__ void dct8(float v[8])
{
	// Cosines of multiples of pi/16, divided by 2.
	const float c1 = 0.49039264f, c2 = 0.46193977f, c3 = 0.41573481f, c4 = 0.35355339f, c5 = 0.27778512f, c6 = 0.19134172f, c7 = 0.09754516f;
	float s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
	float d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
	float p0 = s0 + s3, p1 = s1 + s2, m0 = s0 - s3, m1 = s1 - s2;
	v[0] = c4 * (p0 + p1);
	v[1] = c1 * d0 + c3 * d1 + c5 * d2 + c7 * d3;
	v[2] = c2 * m0 + c6 * m1;
	v[3] = c3 * d0 - c7 * d1 - c1 * d2 - c5 * d3;
	v[4] = c4 * (p0 - p1);
	v[5] = c5 * d0 - c1 * d1 + c7 * d2 + c3 * d3;
	v[6] = c6 * m0 - c2 * m1;
	v[7] = c7 * d0 - c5 * d1 + c3 * d2 - c1 * d3;
}

extern "C" __global__ void __launch_bounds__(8 * 4 * 2)
DCT8x8(float *__restrict__ out, const float *__restrict__ in, int width, int height)
{
	__shared__ float tile[16][33];
	int tx = threadIdx.x, ty = 8 * threadIdx.y, tz = 8 * threadIdx.z;
	int x = 32 * blockIdx.x + ty + tx, y = 16 * blockIdx.y + tz;
	bool inside = x < width && y < height;
	float v[8];
	if (inside) {
#pragma unroll
		for (int j = 0; j < 8; j++)
			tile[tz + j][ty + tx] = in[(y + j) * width + x];
	}
	__syncthreads();
	float *row = &tile[tz + tx][ty];
#pragma unroll
	for (int j = 0; j < 8; j++)
		v[j] = row[j];
	dct8(v);
#pragma unroll
	for (int j = 0; j < 8; j++)
		row[j] = v[j];
	__syncthreads();
	if (inside) {
#pragma unroll
		for (int j = 0; j < 8; j++)
			v[j] = tile[tz + j][ty + tx];
		dct8(v);
#pragma unroll
		for (int j = 0; j < 8; j++)
			out[(y + j) * width + x] = v[j];
	}
}
