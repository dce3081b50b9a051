// The weights of distances from -5 to 5.
static __constant__ const float gauss[11] = {0.2096114f, 0.3678794f, 0.5697828f, 0.7788008f, 0.9394131f, 1, 0.9394131f, 0.7788008f, 0.5697828f, 0.3678794f, 0.2096114f};

extern "C" __global__ void __launch_bounds__(32 * 8)
Bilateral(float *__restrict__ out, const float *__restrict__ in, int width, int height, float slope)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	float center = in[y * width + x], sum = 0, total = 0;
	for (int dy = -5; dy <= 5; dy++) {
		const float *row = in + min(max(y + dy, 0), height - 1) * width;
		for (int dx = -5; dx <= 5; dx++) {
			float v = row[min(max(x + dx, 0), width - 1)], difference = v - center;
			float weight = gauss[dy + 5] * gauss[dx + 5] * __expf(-slope * difference * difference);
			sum += weight * v;
			total += weight;
		}
	}
	out[y * width + x] = sum / total;
}
