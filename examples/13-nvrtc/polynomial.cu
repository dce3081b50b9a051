// The header is made when the program runs: DEGREE, and coefficients[0] to
// coefficients[DEGREE], which become constants in the code.
#include "coefficients.h"

template <typename T>
__global__ void polynomial(T *y, const T *x, unsigned n) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	T v = 0;
#pragma unroll
	for (int d = DEGREE; d >= 0; d--)
		v = v * x[i] + T(coefficients[d]);
	y[i] = v;
}
