// The operations on rows of bfloat16 for devices since 8.0, which round two
// of them in one instruction.
//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
#include "norm.cuh"
#include "softmax.cuh"

SOFTMAX(bf16_sm80, bf16)
NORM(bf16_sm80, bf16)
