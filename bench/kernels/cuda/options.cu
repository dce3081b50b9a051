#include "reduce.cuh"

// Approximates the cumulative distribution of normal random numbers by a polynomial.
static __device__ float normal(float d)
{
	float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
	float tail = 0.39894228f * __expf(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
	return d > 0 ? 1.0f - tail : tail;
}

static __device__ void blackScholes(float &call, float &put, float price, float strike, float years, float rate, float volatility)
{
	float root = __fdividef(1.0f, rsqrtf(years));
	float d1 = __fdividef(__logf(__fdividef(price, strike)) + (rate + 0.5f * volatility * volatility) * years, volatility * root);
	float d2 = d1 - volatility * root;
	float n1 = normal(d1), n2 = normal(d2);
	float discounted = strike * __expf(-rate * years);
	call = price * n1 - discounted * n2;
	put = discounted * (1.0f - n2) - price * (1.0f - n1);
}

extern "C" __global__ void __launch_bounds__(128)
BlackScholes(float *__restrict__ calls, float *__restrict__ puts, const float *__restrict__ prices, const float *__restrict__ strikes,
	const float *__restrict__ years, float rate, float volatility, int n)
{
	int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
	if (i + 2 <= n) {
		float2 price = *(const float2 *)(prices + i), strike = *(const float2 *)(strikes + i), time = *(const float2 *)(years + i), call, put;
		blackScholes(call.x, put.x, price.x, strike.x, time.x, rate, volatility);
		blackScholes(call.y, put.y, price.y, strike.y, time.y, rate, volatility);
		*(float2 *)(calls + i) = call;
		*(float2 *)(puts + i) = put;
	} else if (i < n) {
		float call, put;
		blackScholes(call, put, prices[i], strikes[i], years[i], rate, volatility);
		calls[i] = call;
		puts[i] = put;
	}
}

struct PathOption {
	float price, strike, drift, volatility;
};

extern "C" __global__ void __launch_bounds__(256)
MonteCarlo(float *__restrict__ expected, float *__restrict__ confidence, const PathOption *__restrict__ options, const float *__restrict__ numbers, int n)
{
	PathOption option = options[blockIdx.x];
	float sum = 0, squares = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		float price = option.price * __expf(option.drift + option.volatility * numbers[i]);
		float gain = fmaxf(price - option.strike, 0);
		sum += gain;
		squares += gain * gain;
	}
	sum = blockSum(sum);
	__syncthreads();
	squares = blockSum(squares);
	if (threadIdx.x == 0) {
		float f = n;
		expected[blockIdx.x] = sum / f;
		confidence[blockIdx.x] = 1.96f * sqrtf((f * squares - sum * sum) / (f * (f - 1))) / sqrtf(f);
	}
}

struct TreeOption {
	float price, strike, move, up, down;
};

static __device__ float atEnd(const TreeOption &o, int up, int steps)
{
	return fmaxf(o.price * __expf(o.move * (2 * up - steps)) - o.strike, 0);
}

extern "C" __global__ void __launch_bounds__(128)
Binomial(float *__restrict__ prices, const TreeOption *__restrict__ options, int steps)
{
	__shared__ float passed[129];
	TreeOption option = options[blockIdx.x];
	int tid = threadIdx.x;
	float nodes[17];
#pragma unroll
	for (int j = 0; j < 16; j++)
		nodes[j] = atEnd(option, 16 * tid + j, steps);
	if (tid == 0)
		passed[128] = atEnd(option, 2048, steps);
	int last = max(0, 16 * tid - 1);
	for (int i = steps; i > 0; i--) {
		passed[tid] = nodes[0];
		__syncthreads();
		nodes[16] = passed[tid + 1];
		__syncthreads();
		if (i > last) {
#pragma unroll
			for (int j = 0; j < 16; j++)
				nodes[j] = option.up * nodes[j + 1] + option.down * nodes[j];
		}
	}
	if (tid == 0)
		prices[blockIdx.x] = nodes[0];
}
