// Casts of f64 to all other types.
//: cast_.* >dst*$3 <src*$2 n
#include "cast.cuh"

TO_INTS(f64)
CAST4(f64, f16)
CAST4(f64, bf16)
CAST4(f64, f32)
