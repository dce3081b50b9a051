extern "C" __global__ void __launch_bounds__(256)
Saxpy(float *__restrict__ y, const float *__restrict__ x, float a, int n)
{
	int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
	if (i + 4 <= n) {
		float4 u = *(const float4 *)(x + i), v = *(float4 *)(y + i);
		v.x = a * u.x + v.x;
		v.y = a * u.y + v.y;
		v.z = a * u.z + v.z;
		v.w = a * u.w + v.w;
		*(float4 *)(y + i) = v;
		return;
	}
	for (; i < n; i++)
		y[i] = a * x[i] + y[i];
}
