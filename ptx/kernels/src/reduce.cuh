// Reductions: rows to one value each, a whole array being one row.
//
// With parts = 1 each row has a team (see rows.cuh). With more, teams are blocks,
// each takes one part of a row, leaves what it found in `work` and draws a number from the
// row's counter; who draws the last one combines the parts, in their order, and
// the counter is zero again: the launch can be repeated as it is.
//
// No order depends on which block is first, so a result is always the same.
#pragma once
#include "rows.cuh"

#define MAX_ROWS 1024 // with several parts

struct Work {
	u32 counters[MAX_ROWS];
	uint4 found[1];
};

// Moved is a value as words.
template <class V> union Moved {
	static const int n = sizeof(V) / 4;
	V value;
	u32 at[n];
	__device__ Moved() {}
};

template <class V> DEVICE V shuffled(V v, int mask) {
	Moved<V> w;
	w.value = v;
#pragma unroll
	for (int i = 0; i < w.n; i++) w.at[i] = __shfl_xor_sync(0xffffffff, w.at[i], mask);
	return w.value;
}

// What blocks leave for each other must not stay in a cache of one of them.
template <class V> DEVICE void leave(V *to, V v) {
	Moved<V> w;
	w.value = v;
#pragma unroll
	for (int i = 0; i < w.n; i++) ((volatile u32 *)to)[i] = w.at[i];
}

template <class V> DEVICE V fetch(const V *from) {
	Moved<V> w;
#pragma unroll
	for (int i = 0; i < w.n; i++) w.at[i] = ((const volatile u32 *)from)[i];
	return w.value;
}

template <class O> DEVICE typename O::Value overWarp(typename O::Value v) {
#pragma unroll
	for (int d = 16; d > 0; d /= 2)
		if (d < blockDim.x) v = O::with(v, shuffled(v, d));
	return v;
}

// over is `across` for any type of value.
template <class O> DEVICE typename O::Value over(typename O::Value v) {
	__shared__ Moved<typename O::Value> parts[32];
	v = O::overWarp(v);
	if (blockDim.x <= 32) return v;
	u32 lane = threadIdx.x % 32;
	if (lane == 0) parts[threadIdx.x / 32].value = v;
	__syncthreads();
	v = O::overWarp(lane < blockDim.x / 32 ? parts[lane].value : O::none());
	__syncthreads();
	return v;
}

// found is what a thread of one of several teams finds in a row. The threads of
// all of them take packs in turn, and each has four on their way at a time.
template <class O> DEVICE typename O::Value found(const typename O::T *row, u64 cols, u64 part, u64 parts) {
	typedef typename O::T T;
	const int N = 16 / sizeof(T), deep = 4;
	Split<N> s(cols, row);
	u64 step = parts * blockDim.x, i = part * blockDim.x + threadIdx.x;
	typename O::Held singles, held; // each meets its elements in their order
#pragma unroll 1
	for (u64 k = i; k < s.singles(); k += deep * step) {
		Pack<T, 1> one[deep];
#pragma unroll
		for (int j = 0; j < deep; j++)
			if (k + j * step < s.singles()) one[j] = load<T, 1>(row + s.single(k + j * step));
#pragma unroll
		for (int j = 0; j < deep; j++)
			if (k + j * step < s.singles()) singles.take(one[j], row, s.single(k + j * step));
	}
#pragma unroll 1
	for (; i + (deep - 1) * step < s.packs; i += deep * step) {
		Pack<T, N> p[deep];
#pragma unroll
		for (int k = 0; k < deep; k++) p[k] = load<T, N>(row + s.first(i + k * step));
#pragma unroll
		for (int k = 0; k < deep; k++) held.take(p[k], row, s.first(i + k * step));
	}
	if (i < s.packs) {
		Pack<T, N> p[deep];
#pragma unroll
		for (int k = 0; k < deep; k++)
			if (i + k * step < s.packs) p[k] = load<T, N>(row + s.first(i + k * step));
#pragma unroll
		for (int k = 0; k < deep; k++)
			if (i + k * step < s.packs) held.take(p[k], row, s.first(i + k * step));
	}
	return O::with(singles.template value<1>(row), held.template value<N>(row));
}

// last reports whether this block is the last of its row.
DEVICE bool last(Work *work, u64 row, u32 parts) {
	__shared__ u32 number;
	if (threadIdx.x == 0) {
		__threadfence();
		number = atomicInc(&work->counters[row], parts - 1);
		__threadfence();
	}
	__syncthreads();
	return number == parts - 1;
}

// together combines what the parts of a row have found.
template <class O> DEVICE typename O::Value together(const typename O::Value *found, u32 parts) {
	typename O::Value v = O::none();
#pragma unroll 1
	for (u32 i = threadIdx.x; i < parts; i += blockDim.x) v = O::with(v, fetch(found + i));
	return over<O>(v);
}

template <class O>
DEVICE void reduce(typename O::Result *dst, const typename O::T *src, u64 rows, u64 cols, u64 pitch, u32 parts, Work *work) {
	typedef typename O::Value V;
	eachRow(rows * parts, cols, [&](u64 job, u64 n) {
		u64 row = job, part = 0;
		if (parts > 1) { // dividing takes long
			row = job / parts;
			part = job % parts;
		}
		V v = over<O>(found<O>(src + row * pitch, n, part, parts));
		if (parts > 1) {
			V *row0 = (V *)work->found + row * parts;
			if (threadIdx.x == 0) leave(row0 + part, v);
			if (!last(work, row, parts)) return;
			v = together<O>(row0, parts);
		}
		if (threadIdx.x == 0 && row < rows) dst[row] = O::result(v);
	});
}

#define REDUCE(NAME, O) \
	KERNEL_ROWS NAME(O::Result *dst, const O::T *src, u64 rows, u64 cols, u64 pitch, u32 parts, Work *work) { \
		reduce<O>(dst, src, rows, cols, pitch, parts, work); \
	}
