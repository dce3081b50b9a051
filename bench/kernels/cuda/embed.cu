extern "C" __global__ void __launch_bounds__(256)
Embed(float *__restrict__ out, const int *__restrict__ tokens, const float *__restrict__ token, const float *__restrict__ position,
	int T, int C, int n)
{
	int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
	if (i >= n)
		return;
	int k = i / C, c = i % C;
	float4 u = __ldcs((const float4 *)(token + tokens[k] * C + c));
	float4 v = *(const float4 *)(position + k % T * C + c);
	*(float4 *)(out + i) = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}
