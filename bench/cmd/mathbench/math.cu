// The counterpart of kernels.go: functions of CUDA's math library in the same loop. nvcc needs no
// header for this file, and NVRTC compiles it too. Use -O3 and no -use_fast_math.

template <typename T> struct slice {
	T *data;
	long long len, cap;
};

static __device__ unsigned bits(float x) { return __float_as_uint(x); }
static __device__ long long bits(double x) { return __double_as_longlong(x); }

#define KERNEL(name, T, BITS, E)                                                                           \
	extern "C" __global__ void name(slice<T> out, T from, T size, T step, T sum, long long n)          \
	{                                                                                                  \
		long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                            \
		if (i >= out.len)                                                                              \
			return;                                                                            \
		T x0 = from + (T)(int)((unsigned)i * 2654435769u >> 8) * (T)5.9604644775390625e-8 * size;  \
		T x1 = x0 + step, x2 = x1 + step, x3 = x2 + step;                                          \
		BITS a = 0, b = 0, c = 0, d = 0;                                                           \
		_Pragma("unroll 1") for (long long k = 0; k < n; k++)                                      \
		{                                                                                          \
			a ^= bits(E(x0)), b ^= bits(E(x1)), c ^= bits(E(x2)), d ^= bits(E(x3));            \
			x0 += step, x1 += step, x2 += step, x3 += step;                                    \
		}                                                                                          \
		out.data[i] = E(x0) + (T)((a ^ b ^ c ^ d) == 1);                                                \
	}

#define ONE(name, fn)                                            \
	static __device__ float name##_f(float x) { return fn##f(x); } \
	KERNEL(name##32, float, unsigned, name##_f)                            \
	static __device__ double name##_d(double x) { return fn(x); }  \
	KERNEL(name##64, double, long long, name##_d)

// The second argument is sum - x. In a function, sum would not be known, hence the macros.
#define POW32(x) powf(x, sum - x)
#define POW64(x) pow(x, sum - x)
#define ATAN2_32(x) atan2f(x, sum - x)
#define ATAN2_64(x) atan2(x, sum - x)
#define HYPOT32(x) hypotf(x, sum - x)
#define HYPOT64(x) hypot(x, sum - x)
#define MOD32(x) fmodf(x, sum - x)
#define MOD64(x) fmod(x, sum - x)

ONE(Exp, exp)
ONE(Exp2, exp2)
ONE(Expm1, expm1)
ONE(Log, log)
ONE(Log2, log2)
ONE(Log10, log10)
ONE(Log1p, log1p)
ONE(Sin, sin)
ONE(Cos, cos)
ONE(Tan, tan)
ONE(Sinpi, sinpi)
ONE(Cospi, cospi)
ONE(Asin, asin)
ONE(Acos, acos)
ONE(Atan, atan)
ONE(Sinh, sinh)
ONE(Cosh, cosh)
ONE(Tanh, tanh)
ONE(Asinh, asinh)
ONE(Acosh, acosh)
ONE(Atanh, atanh)
ONE(Erf, erf)
ONE(Erfc, erfc)
ONE(Cbrt, cbrt)
ONE(Rcbrt, rcbrt)
ONE(Sqrt, sqrt)
ONE(Rsqrt, rsqrt)
KERNEL(Pow32, float, unsigned, POW32)
KERNEL(Pow64, double, long long, POW64)
KERNEL(Atan232, float, unsigned, ATAN2_32)
KERNEL(Atan264, double, long long, ATAN2_64)
KERNEL(Hypot32, float, unsigned, HYPOT32)
KERNEL(Hypot64, double, long long, HYPOT64)
KERNEL(Mod32, float, unsigned, MOD32)
KERNEL(Mod64, double, long long, MOD64)
