#define RADIUS 4

__constant__ float stencil[RADIUS + 1] = {0.5f, 0.05f, 0.02f, 0.01f, 0.003f};

extern "C" __global__ void __launch_bounds__(512)
Stencil3D(float *__restrict__ out, const float *__restrict__ in, int width, int height, int depth)
{
	__shared__ float tile[16 + 2 * RADIUS][32 + 2 * RADIUS];
	int stride = width + 2 * RADIUS, size = stride * (height + 2 * RADIUS);
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
	int i = (y + RADIUS) * stride + x + RADIUS; // in each plane
	bool reads = x < width + RADIUS && y < height + RADIUS;
	bool writes = x < width && y < height;

	// The planes from RADIUS-1 before the first one to RADIUS-1 behind it.
	float before[RADIUS] = {}, behind[RADIUS] = {}, current = 0;
	if (reads) {
#pragma unroll
		for (int d = 0; d < RADIUS - 1; d++)
			before[d] = in[(RADIUS - 2 - d) * size + i];
		current = in[(RADIUS - 1) * size + i];
#pragma unroll
		for (int d = 0; d < RADIUS; d++)
			behind[d] = in[(RADIUS + d) * size + i];
	}
	for (int z = RADIUS; z < depth + RADIUS; z++) {
#pragma unroll
		for (int d = RADIUS - 1; d > 0; d--)
			before[d] = before[d - 1];
		before[0] = current;
		current = behind[0];
#pragma unroll
		for (int d = 0; d < RADIUS - 1; d++)
			behind[d] = behind[d + 1];
		if (reads)
			behind[RADIUS - 1] = in[(z + RADIUS) * size + i];
		const float *plane = in + z * size;
		__syncthreads();
		if (threadIdx.y < RADIUS) {
			if (reads)
				tile[threadIdx.y][tx] = plane[i - RADIUS * stride];
			if (x < width + RADIUS && y + 16 < height + RADIUS)
				tile[ty + 16][tx] = plane[i + 16 * stride];
		}
		if (threadIdx.x < RADIUS) {
			if (reads)
				tile[ty][threadIdx.x] = plane[i - RADIUS];
			if (x + 32 < width + RADIUS && y < height + RADIUS)
				tile[ty][tx + 32] = plane[i + 32];
		}
		tile[ty][tx] = current;
		__syncthreads();
		float v = stencil[0] * current;
#pragma unroll
		for (int d = 1; d <= RADIUS; d++)
			v += stencil[d] * (behind[d - 1] + before[d - 1] + tile[ty - d][tx] + tile[ty + d][tx] + tile[ty][tx - d] + tile[ty][tx + d]);
		if (writes)
			out[z * size + i] = v;
	}
}
