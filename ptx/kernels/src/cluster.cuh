// A row that is too long for a block, or for what a block holds as numbers, has a
// cluster of 1, 2, 4 or 8 blocks, each of which has a part of its columns. Clusters
// came with compute capability 9.0.
#pragma once
#include "rows.cuh"

// Of two numbers of 16 bits one instruction makes two halves of a word.
template <> __device__ __forceinline__ u32 pair<f16>(f32 a, f32 b) {
	u32 w;
	asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
	return w;
}

// Cluster is the team of a row. All its blocks take part in everything, in the
// same order, also those that have no columns.
//
// They tell each other what they found by notes: the value and the number of the
// exchange in one word of 64 bits, which is written and read as a whole. So who
// reads a note with the right number has its value, and nobody waits for all that
// was written before, rows among it, as a barrier would. A block ends only after it
// has read the notes of all, so none is written to one that has ended.
struct Cluster {
	u32 turn;

	static const u32 mostBlocks = 8; // what every device with clusters can have

	// board is where the notes for this block are, those of two exchanges: who is
	// at the next one may write while others still read. Nobody is further, because
	// that takes a note of everybody at this one.
	static const u32 most = 2; // values of an exchange
	static __device__ __forceinline__ u64 *board() {
		__shared__ u64 notes[2 * most * mostBlocks];
		return notes;
	}
#define REGISTER(NAME, FROM) \
	static __device__ __forceinline__ u32 NAME() { \
		u32 x; \
		asm("mov.u32 %0, %%" FROM ";" : "=r"(x)); \
		return x; \
	}
	REGISTER(rank, "cluster_ctarank") // which of its blocks this is
	REGISTER(blocks, "cluster_nctarank")
	REGISTER(number, "clusterid.x") // which of the grid's clusters this is
	REGISTER(count, "nclusterid.x")

	// Other blocks may write here once it is cleared.
	__device__ __forceinline__ Cluster() : turn(0) {
		if (threadIdx.x < 2 * most * mostBlocks) board()[threadIdx.x] = 0;
		asm volatile("barrier.cluster.arrive.aligned;" : : : "memory");
	}
	__device__ __forceinline__ void ready() {
		if (turn == 1) asm volatile("barrier.cluster.wait.aligned;" : : : "memory");
	}

	// across is what rows.cuh has under that name for blocks.
	template <class O> __device__ __forceinline__ f32 across(f32 v) {
		f32 one[] = {acrossWarp<O>(v)};
		exchange(one, [](f32 (&x)[1], bool is) { x[0] = acrossWarp<O>(is ? x[0] : O::none()); });
		return one[0];
	}
	// exchange makes values that each warp has those of all. combine does so for the
	// lanes of a warp that have some. One warp speaks for its block.
	template <int n, class F> __device__ __forceinline__ void exchange(f32 (&v)[n], F combine) {
		static_assert(n <= most, "there are notes for so many values");
		__shared__ f32 parts[32][n], all[n];
		const u32 lane = threadIdx.x % 32;
		turn++;
		if (lane == 0) copy(parts[threadIdx.x / 32], v);
		ready();
		__syncthreads();
		if (threadIdx.x < 32) {
			u64 *here = board() + turn % 2 * most * mostBlocks;
			const bool is = lane < blockDim.x / 32, told = lane < blocks();
			if (is) copy(v, parts[lane]);
			combine(v, is);
			if (told) {
#pragma unroll
				for (int i = 0; i < n; i++) tell(here + i * mostBlocks + rank(), lane, (u64)turn << 32 | __float_as_uint(v[i]));
#pragma unroll
				for (int i = 0; i < n; i++) v[i] = note(here + i * mostBlocks + lane);
			}
			__syncwarp();
			combine(v, told);
			if (lane == 0) copy(all, v);
		}
		__syncthreads();
		copy(v, all); // which stays until the parts of the next one are there
	}
	template <int n> static __device__ __forceinline__ void copy(f32 (&to)[n], const f32 (&from)[n]) {
#pragma unroll
		for (int i = 0; i < n; i++) to[i] = from[i];
	}
	// tell writes a note where block `to` has this place.
	static __device__ __forceinline__ void tell(u64 *place, u32 to, u64 note) {
		u32 at;
		asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((u32)__cvta_generic_to_shared(place)), "r"(to));
		asm volatile("st.relaxed.cluster.shared::cluster.u64 [%0], %1;" : : "r"(at), "l"(note) : "memory");
	}
	// note waits for a note of this turn.
	__device__ __forceinline__ f32 note(const u64 *place) const {
		const u32 at = (u32)__cvta_generic_to_shared(place);
		u64 note;
		do asm volatile("ld.relaxed.cluster.shared::cluster.u64 %0, [%1];" : "=l"(note) : "r"(at) : "memory");
		while (note >> 32 != turn);
		return __uint_as_float((u32)note);
	}
};

// Share is the columns of a row that a block has. They begin with a pack if the
// row does.
struct Share {
	u64 first, n;
	__device__ __forceinline__ Share(u64 cols) {
		first = min(Cluster::rank() * most(cols), cols);
		n = min(most(cols), cols - first);
	}
	static __device__ __forceinline__ u64 most(u64 cols) {
		const u64 each = Cluster::blocks() * 16;
		return (cols + each - 1) / each * 16;
	}
};

// eachLongRow deals rows to clusters.
template <class F> DEVICE void eachLongRow(u64 rows, F f) {
#pragma unroll 1
	for (u64 row = Cluster::number(); row < rows; row += Cluster::count()) f(row);
}

// Packs is what a thread has of a row as it was read, and as numbers only where they
// are wanted: twice as many of 16 bits have room as if they were kept.
template <class T> struct Packs {
	static const int N = 16 / sizeof(T), count = 8;
	static const bool anew = true;
	Words<16> w[count];

	static __device__ __forceinline__ bool fits(u64 cols) { return cols <= count * N * blockDim.x; }
	// What there is less is the word none.
	__device__ __forceinline__ void load(const T *row, u32 cols, u32 none = 0) { read<N>(w, row, cols, none); }
	template <class F> __device__ __forceinline__ void words(F f) {
#pragma unroll
		for (int k = 0; k < count; k++)
#pragma unroll
			for (u32 &x : w[k].at) f(x);
	}
	template <class F> __device__ __forceinline__ void all(u32 cols, F f) {
		each(cols, [&](auto &p, u32) { f(p); });
	}
	template <class F> __device__ __forceinline__ void each(u32 cols, F f) {
		words([](u32 &x) { x = fresh(x); }); // or the compiler keeps what it made of them
		eachOf<N, count>(cols, [&](int k, bool is, u32 o) {
			if (!is) return;
			Piece<T, N> p;
			p.of(w[k]);
			f(p, o);
		});
	}
};
