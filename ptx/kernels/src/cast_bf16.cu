// Casts of bf16 to all other types.
//: cast_.* >dst*$3 <src*$2 n
#include "cast.cuh"

TO_INTS(bf16)
CAST4(bf16, f16)
CAST4(bf16, f32)
CAST4(bf16, f64)
