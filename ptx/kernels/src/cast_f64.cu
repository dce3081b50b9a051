// Casts of f64 to all other types.
//: cast_.* dst* src* n
#include "cast.cuh"

TO_INTS(f64)
CAST2(f64, f16)
CAST2(f64, bf16)
CAST2(f64, f32)
