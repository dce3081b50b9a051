extern "C" __global__ void __launch_bounds__(64)
Attention(float *__restrict__ out, const float *__restrict__ q, const float *__restrict__ k, const float *__restrict__ v, int n, float scale)
{
	__shared__ __align__(16) float keys[32][64], values[32][64], scores[32][64];
	const float infinity = __int_as_float(0x7f800000);
	int head = 64 * n * blockIdx.y;
	out += head;
	q += head;
	k += head;
	v += head;
	int tid = threadIdx.x, first = 64 * blockIdx.x, row = first + tid;
	float query[64] = {}, sum[64] = {};
	if (row < n) {
#pragma unroll
		for (int d = 0; d < 64; d += 4)
			*(float4 *)&query[d] = *(const float4 *)&q[64 * row + d];
	}
	float most = -infinity, total = 0;
	for (int start = 0; start < min(first + 64, n); start += 32) {
#pragma unroll
		for (int j = 0; j < 8; j++) {
			int e = 4 * (64 * j + tid), i = 64 * start + e;
			float4 x = {0, 0, 0, 0}, y = {0, 0, 0, 0};
			if (i < 64 * n) {
				x = *(const float4 *)&k[i];
				y = *(const float4 *)&v[i];
			}
			*(float4 *)&keys[e / 64][e % 64] = x;
			*(float4 *)&values[e / 64][e % 64] = y;
		}
		__syncthreads();
		float before = most;
		for (int j = 0; j < 32; j++) {
			float s[4] = {};
#pragma unroll
			for (int d = 0; d < 64; d += 4) {
				float4 x = *(const float4 *)&keys[j][d];
				s[0] += query[d] * x.x;
				s[1] += query[d + 1] * x.y;
				s[2] += query[d + 2] * x.z;
				s[3] += query[d + 3] * x.w;
			}
			float score = scale * (s[0] + s[1] + s[2] + s[3]);
			if (start + j > row)
				score = -infinity;
			scores[j][tid] = score;
			most = fmaxf(most, score);
		}
		float shrink = __expf(before - most);
		total *= shrink;
#pragma unroll
		for (int d = 0; d < 64; d++)
			sum[d] *= shrink;
		for (int j = 0; j < 32; j++) {
			float p = __expf(scores[j][tid] - most);
			total += p;
#pragma unroll
			for (int d = 0; d < 64; d += 4) {
				float4 x = *(const float4 *)&values[j][d];
				sum[d] += p * x.x;
				sum[d + 1] += p * x.y;
				sum[d + 2] += p * x.z;
				sum[d + 3] += p * x.w;
			}
		}
		__syncthreads();
	}
	if (row < n) {
#pragma unroll
		for (int d = 0; d < 64; d += 4)
			*(float4 *)&out[64 * row + d] = make_float4(sum[d] / total, sum[d + 1] / total, sum[d + 2] / total, sum[d + 3] / total);
	}
}
