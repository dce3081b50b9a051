// Softmax of rows that are too long for a block, for devices since 9.0.
//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
#include "cluster.cuh"
#include "softmax.cuh"

// softmaxOnce has cols of the columns of a row. Each warp takes powers of what is
// less than its own largest value. So blocks meet once, for the largest value of all
// and the sum, and warps correct theirs with what they divide by.
template <int N, class T> DEVICE void softmaxOnce(Cluster &team, T *dst, Staged<T> &src, u32 cols, f32 scale) {
	Words<sizeof(T) * N> w[pieces<N>()];
	src.template load<N>(w, cols, least<T>());
	Piece<T, N> p[pieces<N>()];
	f32 own = Max::none(), sum = 0;
	eachHeld<N>(cols, [&](int k, bool is, u32) {
		p[k].of(w[k]);
		if (is) own = scaled(p[k], scale, own);
	});
	own = acrossWarp<Max>(own);
	src.next(cols);
	eachHeld<N>(cols, [&](int k, bool is, u32) {
		if (!is) return;
		powers(p[k], anchor(own));
		sum += p[k].sum();
	});
	f32 all[] = {own, acrossWarp<Add>(sum)};
	team.exchange(all, [](f32 (&x)[2], bool is) {
		const f32 most = acrossWarp<Max>(is ? x[0] : Max::none());
		x[1] = acrossWarp<Add>(is ? x[1] * expf(x[0] - anchor(most)) : 0);
		x[0] = most;
	});
	const f32 factor = expf(own - anchor(all[0])) * reciprocal(all[1]);
	T *to = mine<N>(dst);
	eachHeld<N>(cols, [&](int k, bool is, u32 o) {
		if (!is) return;
		times(p[k], factor);
		p[k].store(to + o);
	});
}

template <class T>
DEVICE void softmaxShared(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) {
	const int N = 16 / sizeof(T);
	const bool keep = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && fits<N>(Share::most(cols)) && Staged<T>::fits();
	const Share own(cols);
	Cluster team;
	dst += own.first, src += own.first;
	if (keep) {
		Staged<T> from(src, rows, srcPitch, own.n);
		eachLongRow(rows, [&](u64 r) { softmaxOnce<N>(team, dst + r * dstPitch, from, own.n, scale); });
	} else {
		eachLongRow(rows, [&](u64 r) { softmaxTwice(team, dst + r * dstPitch, src + r * srcPitch, own.n, scale); });
	}
}

#define SHARED(T) \
	KERNEL_CLUSTERS softmax_##T##_sm90(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) { \
		softmaxShared(dst, src, rows, cols, dstPitch, srcPitch, scale); \
	}

SHARED(f32)
SHARED(f16)
SHARED(bf16)
