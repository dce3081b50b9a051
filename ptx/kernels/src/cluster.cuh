// A row that is too long for a block has a cluster of blocks, each of which has a
// part of its columns. Clusters came with compute capability 9.0.
#pragma once
#include "rows.cuh"

static const u32 clusterBlocks = 8; // what every device with clusters can have

#define KERNEL_CLUSTERS extern "C" __global__ void __cluster_dims__(clusterBlocks, 1, 1) __launch_bounds__(512, 2)

// Cluster is the team of a row. All its blocks take part in everything, in the
// same order, also those that have no columns.
//
// They tell each other what they found by notes: the value and the number of the
// exchange in one word of 64 bits, which is written and read as a whole. So who
// reads a note with the right number has its value, and nobody waits for all that
// was written before, rows among it, as a barrier would.
struct Cluster {
	u32 turn;

	// board is where the notes for this block are, those of two exchanges: who is
	// at the next one may write while others still read. Nobody is further, because
	// that takes a note of everybody at this one.
	static const u32 most = 2; // values of an exchange
	static __device__ __forceinline__ u64 *board() {
		__shared__ u64 notes[2 * most * clusterBlocks];
		return notes;
	}
	static __device__ __forceinline__ u32 rank() { return blockIdx.x % clusterBlocks; }

	// Other blocks may write here once it is cleared.
	__device__ __forceinline__ Cluster() : turn(0) {
		if (threadIdx.x < 2 * most * clusterBlocks) board()[threadIdx.x] = 0;
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
			u64 *here = board() + turn % 2 * most * clusterBlocks;
			const bool is = lane < blockDim.x / 32;
			if (is) copy(v, parts[lane]);
			combine(v, is);
			if (lane < clusterBlocks) {
#pragma unroll
				for (int i = 0; i < n; i++) tell(here + i * clusterBlocks + rank(), lane, (u64)turn << 32 | __float_as_uint(v[i]));
#pragma unroll
				for (int i = 0; i < n; i++) v[i] = note(here + i * clusterBlocks + lane);
			}
			__syncwarp();
			combine(v, lane < clusterBlocks);
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
	static __device__ __forceinline__ u64 most(u64 cols) { return (cols + clusterBlocks * 16 - 1) / (clusterBlocks * 16) * 16; }
};

// eachLongRow deals rows to clusters.
template <class F> DEVICE void eachLongRow(u64 rows, F f) {
#pragma unroll 1
	for (u64 row = blockIdx.x / clusterBlocks; row < rows; row += gridDim.x / clusterBlocks) f(row);
}

// Staged is rows of which the next one is on its way into shared memory while one
// is worked on. Each thread has its own places there, for the packs that it will
// load.
template <class T> struct Staged {
	const T *row, *end;
	u64 step; // to the cluster's next row

	// fits reports whether the launch brought the memory.
	static __device__ __forceinline__ bool fits() {
		u32 has;
		asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(has));
		return has >= blockDim.x * held * sizeof(T);
	}
	__device__ __forceinline__ Staged(const T *src, u64 rows, u64 pitch, u32 cols)
		: row(src + blockIdx.x / clusterBlocks * pitch), end(src + rows * pitch), step(gridDim.x / clusterBlocks * pitch) {
		next(cols);
	}
	static __device__ __forceinline__ u32 own() {
		extern __shared__ uint4 stage[];
		return (u32)__cvta_generic_to_shared(stage + threadIdx.x);
	}
	// next begins to read the row after the one that was loaded, into its place. A
	// thread overwrites only what itself has read, by loads that went the same way
	// before and in order.
	__device__ __forceinline__ void next(u32 cols) {
		const int N = 16 / sizeof(T);
		if (row < end) {
			const T *from = mine<N>(row);
			const u32 to = own();
			eachHeld<N>(cols, [&](int, bool is, u32 o) {
				if (is) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to + o * (u32)sizeof(T)), "l"(__cvta_generic_to_global(from + o)) : "memory");
			});
		}
		row += step;
	}
	template <int N> __device__ __forceinline__ void load(Words<16> (&w)[pieces<N>()], u32 cols, u32 none) const {
		asm volatile("cp.async.wait_all;" : : : "memory");
		const u32 from = own();
		eachHeld<N>(cols, [&](int k, bool is, u32 o) {
			fillWords(w[k], none);
			if (is) asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[k].at[0]), "=r"(w[k].at[1]), "=r"(w[k].at[2]), "=r"(w[k].at[3]) : "r"(from + o * (u32)sizeof(T)) : "memory");
		});
	}
};
