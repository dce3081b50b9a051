// Tensor cores through wmma: half products into float and half sums.
#include <mma.h>
using namespace nvcuda;

//@ wmma_f16_f32<<<1, 32>>>(a f16[256] random, b f16[256] random, c f32[256] random, d f32[256] zero ~1e-4)
extern "C" __global__ void wmma_f16_f32(const half *a, const half *b, const float *c, float *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}

//@ wmma_f16_f16<<<1, 32>>>(a f16[512] random, b f16[128] random, d f16[256] zero ~1e-2)
extern "C" __global__ void wmma_f16_f16(const half *a, const half *b, half *d) {
    wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::col_major> fa;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, half> fc;
    wmma::fill_fragment(fc, __float2half(0.5f));
    wmma::load_matrix_sync(fa, a, 32);
    wmma::load_matrix_sync(fb, b, 8);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = __hmul(fc.x[i], __float2half(2.f));
    wmma::store_matrix_sync(d, fc, 32, wmma::mem_col_major);
}
