// Kernels whose parameters are structs: what ptx2go reads of a CUDA source.
#include <cstdint>

#define DIMS 4

// Box is a region of space, and how its faces behave.
struct Box {
    float3 low, high;
    bool periodic;
    uint64_t steps[DIMS];
};

// Particle is a point with a weight.
struct Particle {
    float4 place;
    uint8_t kind;
    double weight;
};

// Move shifts particles by a vector; those that leave the box on one side come
// back on the other, if the box is periodic.
//
// ptx2go: block 128
extern "C" __global__ void move_particles(Particle *p, const float *__restrict__ by, Box box, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float at[3] = {p[i].place.x, p[i].place.y, p[i].place.z};
    const float *low = &box.low.x, *high = &box.high.x;
    for (int d = 0; d < 3; d++) {
        at[d] += by[d];
        float size = high[d] - low[d];
        if (box.periodic && at[d] >= high[d])
            at[d] -= size;
        if (box.periodic && at[d] < low[d])
            at[d] += size;
    }
    p[i].place = make_float4(at[0], at[1], at[2], p[i].place.w);
    p[i].weight += (double)box.steps[DIMS - 1];
}

namespace grid {

/**
 * Tile adds two matrices of rows × cols numbers.
 *
 * ptx2go: out sum
 * ptx2go: block 16x16
 */
template <typename T>
__global__ void __launch_bounds__(256) tile(const T *a, const T *b, T *sum, unsigned rows, unsigned cols)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows)
        sum[y * cols + x] = a[y * cols + x] + b[y * cols + x];
}

template __global__ void tile<float>(const float *, const float *, float *, unsigned, unsigned);
template __global__ void tile<int>(const int *, const int *, int *, unsigned, unsigned);

} // namespace grid
