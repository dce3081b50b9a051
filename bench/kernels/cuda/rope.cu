// How many numbers a head has.
#define ROPE_DIMS 128

extern "C" __global__ void __launch_bounds__(256)
Rope(float *__restrict__ out, const float *__restrict__ x, const int *__restrict__ positions, int n, float base)
{
	int r = blockIdx.y, i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
	if (i >= n)
		return;
	const float *row = x + r * n;
	float *y = out + r * n;
	int pair = i % ROPE_DIMS / 2;
	float angle = positions[r] * powf(base, (float)pair);
	float s = sinf(angle), c = cosf(angle);
	float u = row[i], v = row[i + 1];
	y[i] = u * c - v * s;
	y[i + 1] = u * s + v * c;
}
