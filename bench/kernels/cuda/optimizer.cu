struct Adam {
	float rate, beta1, beta2, correction1, correction2, epsilon, decay;
};

// Returns the number between a and b that weight chooses: a for 0, and b for 1.
static __device__ float lerp(float a, float b, float weight)
{
	return fmaf(weight, b, fmaf(-weight, a, a));
}

extern "C" __global__ void __launch_bounds__(512)
AdamW(float *__restrict__ p, float *__restrict__ m, float *__restrict__ v, const float *__restrict__ g, Adam a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float grad = g[i];
	float mean = lerp(grad, m[i], a.beta1);
	m[i] = mean;
	float square = lerp(grad * grad, v[i], a.beta2);
	v[i] = square;
	mean /= a.correction1;
	square /= a.correction2;
	p[i] -= a.rate * (mean / (sqrtf(square) + a.epsilon) + a.decay * p[i]);
}
