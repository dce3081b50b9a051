// Casts of f32 to all other types.
//: cast_.* >dst*$3 <src*$2 n
#include "cast.cuh"

TO_INTS(f32)
CAST4(f32, f16)
CAST4(f32, bf16)
CAST4(f32, f64)
