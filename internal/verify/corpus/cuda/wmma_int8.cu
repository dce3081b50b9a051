// Tensor cores on bytes: signed, unsigned with saturation.
#include <mma.h>
using namespace nvcuda;

//@ wmma_s8<<<1, 32>>>(a i8[256] random, b i8[256] random, d i32[256] zero)
extern "C" __global__ void wmma_s8(const signed char *a, const signed char *b, int *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
    wmma::fill_fragment(fc, 7);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}

//@ wmma_u8_sat<<<1, 32>>>(a u8[256] random, b u8[256] random, d i32[256] zero)
extern "C" __global__ void wmma_u8_sat(const unsigned char *a, const unsigned char *b, int *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, unsigned char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, unsigned char, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
    wmma::fill_fragment(fc, 0x7fffff00);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc, true);
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_col_major);
}
