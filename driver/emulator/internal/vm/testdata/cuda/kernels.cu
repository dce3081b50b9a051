// Typical kernels for tests of the emulator. NVRTC 11.8 compiled the PTX files
// beside this file from it:
//
//   optimised.ptx  --gpu-architecture=compute_80
//   debug.ptx      --gpu-architecture=compute_80 -G    (without .section blocks)
//   fastmath.ptx   --gpu-architecture=compute_90 -lineinfo --use_fast_math

typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;

// The sum of x: shuffles in a warp, shared memory between warps, an atomic
// between blocks.
extern "C" __global__ void reduce(const float* x, float* out, int n) {
  __shared__ float s[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? s[threadIdx.x] : 0;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x == 0) atomicAdd(out, v);
  }
}

__device__ unsigned ticket;

// The sum of x, where the block that finishes last adds the partial sums.
extern "C" __global__ void lastblock(const int* x, int* part, int* out, int n) {
  __shared__ bool last;
  __shared__ int s[256];
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = blockDim.x / 2; o; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int t = 0;
    for (int i = 0; i < gridDim.x; i++) t += ((volatile int*)part)[i];
    *out = t;
  }
}

// Inclusive prefix sums of a block, double-buffered in dynamic shared memory.
extern "C" __global__ void scan(const int* in, int* out, int n) {
  extern __shared__ int t[];
  int i = threadIdx.x;
  int pout = 0, pin = 1;
  t[i] = i < n ? in[i] : 0;
  __syncthreads();
  for (int o = 1; o < n; o *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (i >= o)
      t[pout * n + i] = t[pin * n + i] + t[pin * n + i - o];
    else
      t[pout * n + i] = t[pin * n + i];
    __syncthreads();
  }
  out[i] = t[pout * n + i];
}

// Bitonic sort of a block.
extern "C" __global__ void bitonic(unsigned* v, int n) {
  __shared__ unsigned s[512];
  int t = threadIdx.x;
  s[t] = v[blockIdx.x * n + t];
  __syncthreads();
  for (int k = 2; k <= n; k <<= 1)
    for (int j = k >> 1; j; j >>= 1) {
      int p = t ^ j;
      if (p > t) {
        bool up = (t & k) == 0;
        if ((s[t] > s[p]) == up) {
          unsigned x = s[t];
          s[t] = s[p];
          s[p] = x;
        }
      }
      __syncthreads();
    }
  v[blockIdx.x * n + t] = s[t];
}

// Counts of bytes, with atomics in shared and in global memory.
extern "C" __global__ void histogram(const unsigned char* x, unsigned* h, int n) {
  __shared__ unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (s[i]) atomicAdd(&h[i], s[i]);
}

// A product in tiles, for any size.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float sa[16][16], sb[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float acc = 0;
  for (int k = 0; k < n; k += 16) {
    sa[y][x] = row < n && k + x < n ? a[row * n + k + x] : 0;
    sb[y][x] = col < n && k + y < n ? b[(k + y) * n + col] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) acc += sa[y][i] * sb[i][x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = acc;
}

struct Body {
  float4 p;
  float3 v;
};

// One step of n bodies.
extern "C" __global__ void nbody(Body* b, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    float dx = b[j].p.x - b[i].p.x, dy = b[j].p.y - b[i].p.y, dz = b[j].p.z - b[i].p.z;
    float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), f = b[j].p.w * r * r * r;
    ax += f * dx;
    ay += f * dy;
    az += f * dz;
  }
  b[i].v.x += dt * ax;
  b[i].v.y += dt * ay;
  b[i].v.z += dt * az;
}

__device__ __noinline__ int ack(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}

// Recursion whose depth differs between threads.
extern "C" __global__ void ackermann(int* out) { out[threadIdx.x] = ack(threadIdx.x % 3, threadIdx.x / 4); }

// Functions of the mathematical library in both precisions.
extern "C" __global__ void mathfun(const float* x, float* y, const double* z, double* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = sinf(v) + expf(-v * v) + logf(fabsf(v) + 1) + powf(fabsf(v), 1.3f) + atan2f(v, 2) + erff(v) + cbrtf(v) + fmodf(v, 0.7f);
  double d = z[i];
  w[i] = sin(d) + exp(-d * d) + log(fabs(d) + 1) + pow(fabs(d), 1.3) + atan2(d, 2) + erf(d) + tgamma(fabs(d) + 1) + rsqrt(fabs(d) + 1) + d / 3;
}

// 64-bit integers and the intrinsics for bits.
extern "C" __global__ void hash(const uint32_t* x, uint64_t* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t h = 1469598103934665603ull;
  for (int k = 0; k < 4; k++) {
    h ^= (x[i] >> (8 * k)) & 255;
    h *= 1099511628211ull;
  }
  h ^= h >> 33;
  h = __brevll(h) + __popcll(h) + __clzll(h | 1) + (h % 1000003) + __umul64hi(h, h * 7);
  h += __byte_perm(x[i], (uint32_t)h, 0x3715) + __funnelshift_l(x[i], (uint32_t)h, 7);
  y[i] = h;
}

extern "C" __global__ void prints(int n) {
  if (threadIdx.x < n) printf("thread %d of %s: %5.2f %llu\n", threadIdx.x, "block", threadIdx.x * 0.5, 1ull << threadIdx.x * 5);
}

// The first place where pat is in text.
extern "C" __global__ void search(const char* text, int n, const char* pat, int m, int* found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  int k = 0;
  while (k < m && text[i + k] == pat[k]) k++;
  if (k == m) atomicMin(found, i);
}

typedef float (*fn)(float);
__device__ float f1(float x) { return x + 1; }
__device__ float f2(float x) { return x * x; }
__device__ float f3(float x) { return sqrtf(x); }
__device__ fn table[3] = {f1, f2, f3};

// Calls through a table of functions.
extern "C" __global__ void pointers(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[i % 3](x[i]);
}

// A switch and an array in local memory.
extern "C" __global__ void switches(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], r;
  switch (v & 15) {
    case 0: r = v * 3; break;
    case 1: r = v + 7; break;
    case 2: r = v - 9; break;
    case 3: r = v ^ 0x55; break;
    case 4: r = ~v; break;
    case 5: r = v << 3; break;
    case 6: r = v >> 2; break;
    case 7: r = v % 13; break;
    case 8: r = v / 7; break;
    case 9: r = -v; break;
    default: r = v & 0xff;
  }
  int buf[8];
  for (int k = 0; k < 8; k++) buf[(k * 3 + v) & 7] = r + k;
  y[i] = buf[v & 7] * 10 + buf[r & 7];
}
