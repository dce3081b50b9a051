extern "C" __global__ void __launch_bounds__(32 * 8)
Mandelbrot(int *__restrict__ counts, int width, int height, float left, float top, float step, int most)
{
	int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
	if (px >= width || py >= height)
		return;
	float cx = fmaf(px, step, left), cy = fmaf(py, step, top);
	float x = 0, y = 0, xx = 0, yy = 0;
	int n = 0;
	while (n < most && xx + yy <= 4) {
		y = fmaf(x + x, y, cy);
		x = xx - yy + cx;
		xx = __fmul_rn(x, x);
		yy = __fmul_rn(y, y);
		n++;
	}
	counts[py * width + px] = n;
}
