// Loops that make each element of dst from the elements of sources at the same
// place. A thread has one pack: to have more on their way in fewer threads was
// slower. Without packs, where the operands cannot all be aligned, a thread has U
// elements on their way.
#pragma once
#include "common.cuh"

template <int N, int U, class D, class S, class F> DEVICE void map(D *dst, u64 n, const S *src, F f) {
	Split<N> s(n, dst);
	s.also(src);
	u64 i = threadNumber(), step = threadCount(), k = i;
	if (U > 1)
#pragma unroll 1
		for (; s.packs == 0 && k + (U - 1) * step < n; k += U * step) {
			S x[U];
#pragma unroll
			for (int u = 0; u < U; u++) x[u] = src[k + u * step];
#pragma unroll
			for (int u = 0; u < U; u++) dst[k + u * step] = f(x[u]);
		}
	for (; k < s.singles(); k += step) {
		u64 at = s.single(k);
		dst[at] = f(src[at]);
	}
#pragma unroll 1
	for (; i < s.packs; i += step) {
		Pack<S, N> x = load<S, N>(src + s.first(i));
		Pack<D, N> y;
#pragma unroll
		for (int k = 0; k < N; k++) y.at[k] = f(x.at[k]);
		store<D, N>(dst + s.first(i), y);
	}
}

template <int N, int U, class T, class F> DEVICE void map2(T *dst, u64 n, const T *a, const T *b, F f) {
	Split<N> s(n, dst);
	s.also(a);
	s.also(b);
	u64 i = threadNumber(), step = threadCount(), k = i;
	if (U > 1)
#pragma unroll 1
		for (; s.packs == 0 && k + (U - 1) * step < n; k += U * step) {
			T x[U], y[U];
#pragma unroll
			for (int u = 0; u < U; u++) {
				x[u] = a[k + u * step];
				y[u] = b[k + u * step];
			}
#pragma unroll
			for (int u = 0; u < U; u++) dst[k + u * step] = f(x[u], y[u]);
		}
	for (; k < s.singles(); k += step) {
		u64 at = s.single(k);
		dst[at] = f(a[at], b[at]);
	}
#pragma unroll 1
	for (; i < s.packs; i += step) {
		Pack<T, N> x = load<T, N>(a + s.first(i)), y = load<T, N>(b + s.first(i));
#pragma unroll
		for (int k = 0; k < N; k++) x.at[k] = f(x.at[k], y.at[k]);
		store<T, N>(dst + s.first(i), x);
	}
}
