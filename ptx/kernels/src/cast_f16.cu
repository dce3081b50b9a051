// Casts of f16 to all other types.
//: cast_.* >dst*$3 <src*$2 n
#include "cast.cuh"

TO_INTS(f16)
CAST4(f16, bf16)
CAST4(f16, f32)
CAST4(f16, f64)
