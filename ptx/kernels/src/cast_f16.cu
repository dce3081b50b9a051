// Casts of f16 to all other types.
//: cast_.* dst* src* n
#include "cast.cuh"

TO_INTS(f16)
CAST2(f16, bf16)
CAST2(f16, f32)
CAST2(f16, f64)
