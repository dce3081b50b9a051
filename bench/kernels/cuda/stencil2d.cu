extern "C" __global__ void __launch_bounds__(256)
Stencil2D(float *__restrict__ next, const float *__restrict__ now, int width, int height, float k)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	int i = y * width + x;
	if (x >= width || y >= height)
		return;
	if (x == 0 || x == width - 1 || y == 0 || y == height - 1) {
		next[i] = now[i];
		return;
	}
	float around = now[i - 1] + now[i + 1] + now[i - width] + now[i + width];
	next[i] = now[i] + k * (around - 4 * now[i]);
}
