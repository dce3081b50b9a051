// Products of a matrix and a vector, y[r] = sum over c of a[r][c]*x[c], in f32.
// The name has the elements of the matrix and of the vectors.
//
// A team takes two rows at a time, so that what it reads of x serves both.
//: gemv_.* >y*$3 <a*$2 <x*$3 rows cols pitch
#include "rows.cuh"

// columns adds the products of N neighbouring columns of both rows.
template <int N, class A, class X> DEVICE void columns(f32 &s0, f32 &s1, const A *row0, const A *row1, const X *x) {
	const int M = 16 / sizeof(X) < N ? 16 / sizeof(X) : N; // of x at once
	Piece<A, N> a0, a1;
	a0.load(row0);
	a1.load(row1);
	f32 t0 = 0, t1 = 0;
#pragma unroll
	for (int m = 0; m < N; m += M) {
		Piece<X, M> v;
		v.load(x + m);
#pragma unroll
		for (int e = 0; e < M; e++) {
			t0 = fmaf(a0.v[m + e], v.v[e], t0);
			t1 = fmaf(a1.v[m + e], v.v[e], t1);
		}
	}
	s0 += t0;
	s1 += t1;
}

template <int N, class A, class X> DEVICE void dots(f32 &s0, f32 &s1, const A *row0, const A *row1, const X *x, u64 cols) {
	const u64 step = blockDim.x * N;
	u64 i = threadIdx.x * N;
#pragma unroll 1
	for (; i + step < cols; i += 2 * step) {
		columns<N>(s0, s1, row0 + i, row1 + i, x + i);
		columns<N>(s0, s1, row0 + i + step, row1 + i + step, x + i + step);
	}
	if (i < cols) columns<N>(s0, s1, row0 + i, row1 + i, x + i);
}

template <class A, class X> DEVICE void gemv(X *__restrict__ y, const A *__restrict__ a, const X *__restrict__ x, u64 rows, u64 cols, u64 pitch) {
	bool packs = packed(a, cols, pitch) && packed(x, 0, 0);
	EACH_ROW(pair, (rows + 1) / 2) {
		u64 r = 2 * pair;
		bool two = r + 1 < rows;
		const A *row0 = a + r * pitch, *row1 = two ? row0 + pitch : row0;
		f32 s0 = 0, s1 = 0;
		if (packs) dots<16 / sizeof(A)>(s0, s1, row0, row1, x, cols);
		else dots<1>(s0, s1, row0, row1, x, cols);
		s0 = across<Add>(s0);
		s1 = across<Add>(s1);
		if (threadIdx.x == 0) y[r] = fromF32<X>(s0);
		if (threadIdx.x == 0 && two) y[r + 1] = fromF32<X>(s1);
	}
}

#define GEMV(A, X) \
	KERNEL_ROWS gemv_##A##_##X(X *y, const A *a, const X *x, u64 rows, u64 cols, u64 pitch) { \
		gemv(y, a, x, rows, cols, pitch); \
	}

GEMV(f32, f32)
GEMV(f16, f16)
GEMV(f16, f32)
GEMV(bf16, bf16)
GEMV(bf16, f32)
