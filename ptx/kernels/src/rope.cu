// Rotary position embedding: each pair of elements of a head is turned by an
// angle, the token's position times the pair's frequency.
//
// Pairs are neighbours (2i, 2i+1), or lie in the two halves of what is rotated
// (i, i+pairs). What lies behind the pairs is copied. The angle is a product of
// doubles that is reduced before it is rounded, so large positions do no harm.
//
// A thread takes one pair of up to 4 heads of a token.
//: rope_.* >dst*$2 <src*$2 <positions*int32 <frequencies*float32 tokens heads dim pairs dst_token dst_head src_token src_head halves
#include "common.cuh"

static const u32 together = 4;

struct Turn { f32 sin, cos; };

// turns are counted, because only their fraction matters.
DEVICE Turn turn(i32 position, f32 frequency) {
	f64 turns = (f64)position * (f64)frequency * 0.15915494309189535;
	Turn t;
	sincospif(2 * (f32)(turns - rint(turns)), &t.sin, &t.cos);
	return t;
}

template <class T>
DEVICE void rope(T *dst, const T *src, const i32 *positions, const f32 *frequencies, u64 tokens, u32 heads, u32 dim, u32 pairs,
                 u64 dstToken, u64 dstHead, u64 srcToken, u64 srcHead, u32 halves) {
	u32 wide = max(pairs, 1), groups = (heads + together - 1) / together;
	for (u64 n = threadNumber(); n < tokens * groups * wide; n += threadCount()) {
		u32 pair = n % wide, group = n / wide % groups;
		u64 token = n / wide / groups;
		u32 a = halves ? pair : 2 * pair, b = halves ? pair + pairs : a + 1;
		Turn t = {0, 1};
		if (pairs) t = turn(positions[token], frequencies[pair]);
		for (u32 h = group * together; h < min(heads, (group + 1) * together); h++) {
			const T *from = src + token * srcToken + h * srcHead;
			T *to = dst + token * dstToken + h * dstHead;
			if (pairs) {
				f32 x = toF32(from[a]), y = toF32(from[b]);
				to[a] = fromF32<T>(x * t.cos - y * t.sin);
				to[b] = fromF32<T>(x * t.sin + y * t.cos);
			}
			for (u32 i = 2 * pairs + pair; i < dim; i += wide) to[i] = from[i];
		}
	}
}

#define ROPE(T) \
	KERNEL rope_##T(T *dst, const T *src, const i32 *positions, const f32 *frequencies, u64 tokens, u32 heads, u32 dim, u32 pairs, \
	                u64 dstToken, u64 dstHead, u64 srcToken, u64 srcHead, u32 halves) { \
		rope(dst, src, positions, frequencies, tokens, heads, dim, pairs, dstToken, dstHead, srcToken, srcHead, halves); \
	}

ROPE(f32)
ROPE(f16)
ROPE(bf16)
