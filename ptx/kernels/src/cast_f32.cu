// Casts of f32 to all other types.
//: cast_.* dst* src* n
#include "cast.cuh"

TO_INTS(f32)
CAST2(f32, f16)
CAST2(f32, bf16)
CAST2(f32, f64)
