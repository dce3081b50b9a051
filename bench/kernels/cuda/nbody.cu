extern "C" __global__ void __launch_bounds__(256)
NBody(float4 *__restrict__ moved, float4 *__restrict__ velocities, const float4 *__restrict__ positions, float step, float damping, int n)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 256 + threadIdx.x;
	float4 zero = {0, 0, 0, 0}, p = i < n ? positions[i] : zero;
	float ax = 0, ay = 0, az = 0;
	for (int first = 0; first < n; first += 256) {
		int j = first + threadIdx.x;
		tile[threadIdx.x] = j < n ? positions[j] : zero;
		__syncthreads();
#pragma unroll 32
		for (int k = 0; k < 256; k++) {
			float4 q = tile[k];
			float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
			float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float s = q.w * (r * r * r);
			ax += dx * s;
			ay += dy * s;
			az += dz * s;
		}
		__syncthreads();
	}
	if (i < n) {
		float4 v = velocities[i];
		v.x = (v.x + ax * step) * damping;
		v.y = (v.y + ay * step) * damping;
		v.z = (v.z + az * step) * damping;
		moved[i] = make_float4(p.x + v.x * step, p.y + v.y * step, p.z + v.z * step, p.w);
		velocities[i] = v;
	}
}
