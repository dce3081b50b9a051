// Hashes with multiplications and rotations, and an open hash table.

__device__ unsigned mix32(unsigned h) {
    h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13; h *= 0xc2b2ae35; h ^= h >> 16;
    return h;
}

//@ murmur3<<<2, 32>>>(keys u8[1280] random, out u32[64] zero, len i32 20, seed u32 0x9747b28c)
//@ murmur3<<<1, 32>>>(keys u8[736] random, out u32[32] zero, len i32 23, seed u32 1)
extern "C" __global__ void murmur3(const unsigned char *keys, unsigned *out, int len, unsigned seed) {
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned char *p = keys + id * len;
    unsigned h = seed;
    int n = len / 4;
    for (int i = 0; i < n; i++, p += 4) {
        unsigned k = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24;
        k *= 0xcc9e2d51; k = k << 15 | k >> 17; k *= 0x1b873593;
        h ^= k; h = h << 13 | h >> 19; h = h * 5 + 0xe6546b64;
    }
    unsigned k = 0;
    switch (len & 3) {
    case 3: k ^= p[2] << 16; // fall through
    case 2: k ^= p[1] << 8;  // fall through
    case 1: k ^= p[0]; k *= 0xcc9e2d51; k = k << 15 | k >> 17; k *= 0x1b873593; h ^= k;
    }
    out[id] = mix32(h ^ len);
}

//@ xorshift<<<1, 64>>>(state u64[64] random, out u64[64] zero, rounds i32 100)
extern "C" __global__ void xorshift(unsigned long long *state, unsigned long long *out, int rounds) {
    unsigned long long s = state[threadIdx.x], sum = 0;
    for (int i = 0; i < rounds; i++) {
        s ^= s << 13; s ^= s >> 7; s ^= s << 17;
        sum += __umul64hi(s, 0x9e3779b97f4a7c15ull) ^ s;
    }
    state[threadIdx.x] = s;
    out[threadIdx.x] = sum;
}

// Each key is put into the table once; where it lands depends on the order, the
// sum of what is found does not.
//@ insert<<<2, 64>>>(table u32[512] const(4294967295) ?, keys u32[128] perm, found u32[1] zero)
extern "C" __global__ void insert(unsigned *table, const unsigned *keys, unsigned *found) {
    unsigned key = keys[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned i = mix32(key);; i++) {
        unsigned old = atomicCAS(&table[i % 512], ~0u, key);
        if (old == ~0u || old == key) break;
    }
    for (unsigned i = mix32(key);; i++)
        if (((volatile unsigned *)table)[i % 512] == key) { atomicAdd(found, key + 1); break; }
}
