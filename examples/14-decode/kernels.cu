// What a decode loop needs besides the ready kernels. The position of the token
// is read from memory, so one graph serves every position: how far attention's
// loop goes is decided while it runs.
//
// kernels.ptx is made from it, with nvcc 11.8, by:
//   nvcc -ptx -O3 -std=c++17 -arch=compute_52 -o /tmp/raw kernels.cu
//   awk -v version=7.0 -v target=sm_52 -v from=kernels.cu -f params.awk kernels.cu /tmp/raw |
//       sed '1s/ by .*/, which says how; do not edit./' >kernels.ptx

// append puts the key and the value of this token, width elements each, into
// row *position of the caches.
//: append <>keys <>values <key <value <position width
extern "C" __global__ void append(float *keys, float *values, const float *key, const float *value,
                                  const int *position, unsigned width) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= width)
		return;
	size_t at = size_t(*position) * width + i;
	keys[at] = key[i];
	values[at] = value[i];
}

const unsigned THREADS = 256; // of a block of attend

// Every thread gets the sum, or the largest, of what all have.
template <typename F>
__device__ float together(float v, float *warps, F combine) {
	for (unsigned step = 16; step > 0; step /= 2)
		v = combine(v, __shfl_xor_sync(~0u, v, step));
	__syncthreads(); // warps may still be read
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = v;
	__syncthreads();
	v = warps[0];
	for (unsigned i = 1; i < THREADS / 32; i++)
		v = combine(v, warps[i]);
	return v;
}

// attend: out[h] is the mean of the values up to *position, weighted by the
// softmax of scale times the products of their keys with query h. A block for
// each query; `shared` of them use one row of keys and values. dim, the elements
// of a head, is a power of two from 4 to THREADS. width is that of a row of the
// caches: all its heads.
//
// Positions are taken THREADS at a time, and what is larger than all before
// makes the earlier sums smaller. A thread takes the key of one position, then
// four columns of the values of some.
//: attend >out <query <keys <values <position dim width shared scale
extern "C" __global__ void __launch_bounds__(THREADS) attend(float *out, const float *query, const float *keys,
    const float *values, const int *position, unsigned dim, unsigned width, unsigned shared, float scale) {
	__shared__ float4 q[THREADS / 4], sums[THREADS];
	__shared__ float weight[THREADS], warps[THREADS / 32];
	unsigned thread = threadIdx.x, wide = dim / 4, column = thread % wide, part = thread / wide, parts = THREADS / wide;
	unsigned count = *position + 1;
	const float4 *key = (const float4 *)(keys + blockIdx.x / shared * dim);
	const float4 *value = (const float4 *)(values + blockIdx.x / shared * dim) + column;
	width /= 4;
	if (thread < wide)
		q[thread] = ((const float4 *)(query + blockIdx.x * dim))[thread];
	__syncthreads();

	float top = -INFINITY, total = 0;
	float4 sum = {0, 0, 0, 0};
	for (unsigned begin = 0; begin < count; begin += THREADS) {
		float score = -INFINITY;
		if (begin + thread < count) {
			const float4 *row = key + size_t(begin + thread) * width;
			score = 0;
#pragma unroll 16
			for (unsigned i = 0; i < wide; i++) {
				float4 k = row[i], x = q[i];
				score += k.x * x.x + k.y * x.y + k.z * x.z + k.w * x.w;
			}
			score *= scale;
		}
		float larger = together(fmaxf(top, score), warps, [](float a, float b) { return fmaxf(a, b); });
		float shrink = expf(top - larger);
		top = larger;
		float w = expf(score - top);
		weight[thread] = w;
		total = total * shrink + together(w, warps, [](float a, float b) { return a + b; });
		sum.x *= shrink, sum.y *= shrink, sum.z *= shrink, sum.w *= shrink;
		unsigned rows = min(count - begin, THREADS);
#pragma unroll 8
		for (unsigned r = part; r < rows; r += parts) {
			float4 v = value[size_t(begin + r) * width];
			sum.x += weight[r] * v.x, sum.y += weight[r] * v.y, sum.z += weight[r] * v.z, sum.w += weight[r] * v.w;
		}
		__syncthreads();
	}

	sums[thread] = sum;
	__syncthreads();
	if (thread >= dim)
		return;
	float element = 0;
	for (unsigned i = 0; i < parts; i++)
		element += ((const float *)&sums[i * wide])[thread];
	out[blockIdx.x * dim + thread] = element / total;
}

// mix spreads each bit of a word over all of it.
__device__ unsigned mix(unsigned h) {
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

// perturb adds to the logits, divided by the temperature, noise of Gumbel's
// distribution: the largest of the sums is then a sample of the softmax. The noise
// depends on seed, position and place alone.
//: perturb >scores <logits <position n seed sharpness
extern "C" __global__ void perturb(float *scores, const float *logits, const int *position, unsigned n,
                                   unsigned seed, float sharpness) {
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned bits = mix(mix(mix(seed) + *position) + i);
	float uniform = (float(bits >> 9) + 0.5f) / (1 << 23); // exact, neither 0 nor 1
	scores[i] = logits[i] * sharpness - logf(-logf(uniform));
}

// advance goes to the next position. The token there is the one that was chosen,
// or, for the first `prompt` positions, the one that is there already.
//: advance <>sequence <>token <>position prompt
extern "C" __global__ void advance(int *sequence, long long *token, int *position, int prompt) {
	int next = *position + 1;
	if (next < prompt)
		*token = sequence[next];
	else
		sequence[next] = int(*token);
	*position = next;
}
