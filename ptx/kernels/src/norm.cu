//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
#include "norm.cuh"

NORM(f32, f32)
NORM(f16, f16)
NORM(bf16, bf16)
