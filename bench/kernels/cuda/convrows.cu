#define CONV_RADIUS 8
#define CONV_STEPS 8 // numbers that a thread computes

__constant__ float convTaps[2 * CONV_RADIUS + 1] = {
	1 / 81.f, 2 / 81.f, 3 / 81.f, 4 / 81.f, 5 / 81.f, 6 / 81.f, 7 / 81.f, 8 / 81.f, 9 / 81.f,
	8 / 81.f, 7 / 81.f, 6 / 81.f, 5 / 81.f, 4 / 81.f, 3 / 81.f, 2 / 81.f, 1 / 81.f,
};

extern "C" __global__ void __launch_bounds__(64)
ConvRows(float *__restrict__ out, const float *__restrict__ in, int width, int height)
{
	__shared__ float tile[4][16 * (CONV_STEPS + 2)];
	float *near = tile[threadIdx.y];
	int first = blockIdx.x * 16 * CONV_STEPS - 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
	const float *row = in + y * width;
	float *to = out + y * width;
#pragma unroll
	for (int s = 0; s < CONV_STEPS + 2; s++) {
		int x = first + 16 * s;
		near[threadIdx.x + 16 * s] = x >= 0 && x < width && y < height ? row[x] : 0;
	}
	__syncthreads();
#pragma unroll
	for (int s = 1; s <= CONV_STEPS; s++) {
		float sum = 0;
#pragma unroll
		for (int d = 0; d <= 2 * CONV_RADIUS; d++)
			sum += convTaps[2 * CONV_RADIUS - d] * near[threadIdx.x + 16 * s + d - CONV_RADIUS];
		int x = first + 16 * s;
		if (x < width && y < height)
			to[x] = sum;
	}
}
