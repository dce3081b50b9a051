// Casts of bf16 to all other types.
//: cast_.* dst* src* n
#include "cast.cuh"

TO_INTS(bf16)
CAST2(bf16, f16)
CAST2(bf16, f32)
CAST2(bf16, f64)
