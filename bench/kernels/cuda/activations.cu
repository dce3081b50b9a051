extern "C" __global__ void __launch_bounds__(256)
GELU(float *__restrict__ out, const float *__restrict__ x, int n)
{
	const float scale = 0.7978845608028654f; // sqrt(2/pi)
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float v = x[i];
		float cube = 0.044715f * v * v * v;
		out[i] = 0.5f * v * (1 + tanhf(scale * (v + cube)));
	}
}

extern "C" __global__ void __launch_bounds__(256)
SwiGLU(float *__restrict__ out, const float *__restrict__ x, const float *__restrict__ y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float v = x[i];
		out[i] = v / (1 + expf(-v)) * y[i];
	}
}
