// Softmax of rows that are too long for a block, for devices since 9.0.
//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
#include "cluster.cuh"
#include "softmax.cuh"

// larger is the larger ones of the elements of two words.
template <class T> DEVICE u32 larger(u32 a, u32 b);
template <> __device__ __forceinline__ u32 larger<f32>(u32 a, u32 b) { return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b))); }
template <> __device__ __forceinline__ u32 larger<f16>(u32 a, u32 b) {
	u32 w;
	asm("max.f16x2 %0, %1, %2;" : "=r"(w) : "r"(a), "r"(b));
	return w;
}
template <> __device__ __forceinline__ u32 larger<bf16>(u32 a, u32 b) {
	u32 w;
	asm("max.bf16x2 %0, %1, %2;" : "=r"(w) : "r"(a), "r"(b));
	return w;
}

// signs is the signs of a word's elements, if their largest product is that of the
// least one, and else nothing.
template <class T> DEVICE u32 signs(f32 scale) { return scale < 0 ? sizeof(T) == 4 ? 0x80000000 : 0x80008000 : 0; }

// largest is the largest product of what a thread has, which is that of an extreme.
template <class T> DEVICE f32 largest(Packs<T> &row, f32 scale) {
	const u32 flip = signs<T>(scale);
	Words<4> top = {least<T>()};
	row.words([&](u32 x) { top.at[0] = larger<T>(top.at[0], x ^ flip); });
	top.at[0] ^= flip;
	Piece<T, 4 / sizeof(T)> p;
	p.of(top);
	return scaled(p, scale, Max::none());
}

// softmaxOnce has cols of the columns of a row. Each warp adds powers of what is
// less than its own largest product. So blocks meet once, for the largest of all and
// the sum.
template <class T> DEVICE void softmaxOnce(Cluster &team, T *dst, const T *src, u32 cols, f32 scale) {
	Packs<T> row;
	row.load(src, cols, least<T>() ^ signs<T>(scale));
	const f32 own = acrossWarp<Max>(largest(row, scale));
	f32 sum = 0;
	row.each(cols, [&](auto &p, u32) {
		scaled(p, scale, 0);
		powers(p, anchor(own));
		sum += p.sum();
	});
	f32 all[] = {own, acrossWarp<Add>(sum)};
	team.exchange(all, [](f32 (&x)[2], bool is) {
		const f32 most = acrossWarp<Max>(is ? x[0] : Max::none());
		x[1] = acrossWarp<Add>(is ? x[1] * power<f32>(x[0] - anchor(most)) : 0);
		x[0] = most;
	});
	const f32 most = anchor(all[0]), factor = reciprocal(all[1]);
	T *to = mine<Packs<T>::N>(dst);
	row.each(cols, [&](auto &p, u32 o) {
		scaled(p, scale, 0);
		powers(p, most);
		times(p, factor);
		p.store(to + o);
	});
}

template <class T>
DEVICE void softmaxShared(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) {
	const Share own(cols);
	Cluster team;
	dst += own.first, src += own.first;
	const bool keep = packed(dst, cols, dstPitch) && packed(src, cols, srcPitch) && Packs<T>::fits(Share::most(cols));
	if (!keep)
		return eachLongRow(rows, [&](u64 r) { softmaxTwice(team, dst + r * dstPitch, src + r * srcPitch, own.n, scale); });
	eachLongRow(rows, [&](u64 r) { softmaxOnce(team, dst + r * dstPitch, src + r * srcPitch, own.n, scale); });
}

#define SHARED(T) \
	KERNEL_ROWS softmax_##T##_sm90(T *dst, const T *src, u64 rows, u64 cols, u64 dstPitch, u64 srcPitch, f32 scale) { \
		softmaxShared(dst, src, rows, cols, dstPitch, srcPitch, scale); \
	}

SHARED(f32)
SHARED(f16)
SHARED(bf16)
