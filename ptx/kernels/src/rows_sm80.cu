// Operations on rows of 16-bit floats for devices since 8.0, which round two
// to bfloat16, and compare two, in one instruction.
//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
//: rmsnorm_.* >dst*$2 <src*$2 <weight*$2 rows cols dst_pitch src_pitch eps
//: layernorm_.* >dst*$2 <src*$2 <weight*$2 <bias*$2 rows cols dst_pitch src_pitch eps
//: argmax_.* >dst*int64 <src*$2 rows cols pitch parts <>work*uint64
#include "argmax.cuh"
#include "norm.cuh"
#include "softmax.cuh"

SOFTMAX(bf16_sm80, bf16)
NORM(bf16_sm80, bf16)
ARGMAX(f16_sm80, ArgMaxOfRanks<f16>)
ARGMAX(bf16_sm80, ArgMaxOfRanks<bf16>)
