// Returns an element of a matrix, and 0 outside of it.
template <typename T>
static __device__ T at(const T *__restrict__ x, int rows, int columns, int row, int column)
{
	return row < rows && column < columns ? x[row * columns + column] : T(0);
}

extern "C" __global__ void __launch_bounds__(32 * 32)
MatMul(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int n, int k)
{
	__shared__ float as[32][32], bs[32][32];
	int tx = threadIdx.x, ty = threadIdx.y;
	int x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
	float sum = 0;
	for (int i = 0; i < k; i += 32) {
		as[ty][tx] = at(a, m, k, y, i + tx);
		bs[ty][tx] = at(b, k, n, i + ty, x);
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 32; j++)
			sum += as[ty][j] * bs[j][tx];
		__syncthreads();
	}
	if (y < m && x < n)
		c[y * n + x] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
SGemm(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int n, int k)
{
	// A row of 68 numbers keeps vectors of four aligned, and stores by columns from most bank conflicts.
	__shared__ __align__(16) float as[2][16][68], bs[2][16][64];
	int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
	int row = 64 * blockIdx.y, column = 64 * blockIdx.x;
	float u[4], v[4], sum[4][4] = {};
#pragma unroll
	for (int j = 0; j < 4; j++) {
		as[0][tx][ty + 16 * j] = at(a, m, k, row + ty + 16 * j, tx);
		bs[0][tid / 64 + 4 * j][tid % 64] = at(b, k, n, tid / 64 + 4 * j, column + tid % 64);
	}
	__syncthreads();
	int slab = 0;
	for (int i = 16; i < k + 16; i += 16) {
#pragma unroll
		for (int j = 0; j < 4; j++) {
			u[j] = at(a, m, k, row + ty + 16 * j, i + tx);
			v[j] = at(b, k, n, i + tid / 64 + 4 * j, column + tid % 64);
		}
#pragma unroll
		for (int p = 0; p < 16; p++) {
			float4 x4 = *(const float4 *)&as[slab][p][4 * ty], y4 = *(const float4 *)&bs[slab][p][4 * tx];
			float x[4] = {x4.x, x4.y, x4.z, x4.w}, y[4] = {y4.x, y4.y, y4.z, y4.w};
#pragma unroll
			for (int r = 0; r < 4; r++)
#pragma unroll
				for (int q = 0; q < 4; q++)
					sum[r][q] += x[r] * y[q];
		}
		slab ^= 1;
#pragma unroll
		for (int j = 0; j < 4; j++) {
			as[slab][tx][ty + 16 * j] = u[j];
			bs[slab][tid / 64 + 4 * j][tid % 64] = v[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int r = 0; r < 4; r++)
#pragma unroll
		for (int q = 0; q < 4; q++) {
			int y = row + 4 * ty + r, x = column + 4 * tx + q;
			if (y < m && x < n)
				c[y * n + x] = sum[r][q];
		}
}

extern "C" __global__ void __launch_bounds__(256)
DGemm(double *__restrict__ c, const double *__restrict__ a, const double *__restrict__ b, int m, int n, int k)
{
	__shared__ __align__(16) double as[2][16][34], bs[2][16][32];
	int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
	int row = 32 * blockIdx.y, column = 32 * blockIdx.x;
	double u[2], v[2], sum[2][2] = {};
#pragma unroll
	for (int j = 0; j < 2; j++) {
		as[0][tx][ty + 16 * j] = at(a, m, k, row + ty + 16 * j, tx);
		bs[0][tid / 32 + 8 * j][tid % 32] = at(b, k, n, tid / 32 + 8 * j, column + tid % 32);
	}
	__syncthreads();
	int slab = 0;
	for (int i = 16; i < k + 16; i += 16) {
#pragma unroll
		for (int j = 0; j < 2; j++) {
			u[j] = at(a, m, k, row + ty + 16 * j, i + tx);
			v[j] = at(b, k, n, i + tid / 32 + 8 * j, column + tid % 32);
		}
#pragma unroll
		for (int p = 0; p < 16; p++) {
			double2 x2 = *(const double2 *)&as[slab][p][2 * ty], y2 = *(const double2 *)&bs[slab][p][2 * tx];
			double x[2] = {x2.x, x2.y}, y[2] = {y2.x, y2.y};
#pragma unroll
			for (int r = 0; r < 2; r++)
#pragma unroll
				for (int q = 0; q < 2; q++)
					sum[r][q] += x[r] * y[q];
		}
		slab ^= 1;
#pragma unroll
		for (int j = 0; j < 2; j++) {
			as[slab][tx][ty + 16 * j] = u[j];
			bs[slab][tid / 32 + 8 * j][tid % 32] = v[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int r = 0; r < 2; r++)
#pragma unroll
		for (int q = 0; q < 2; q++) {
			int y = row + 2 * ty + r, x = column + 2 * tx + q;
			if (y < m && x < n)
				c[y * n + x] = sum[r][q];
		}
}
