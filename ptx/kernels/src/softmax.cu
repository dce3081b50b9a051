//: softmax_.* >dst*$2 <src*$2 rows cols dst_pitch src_pitch scale
#include "softmax.cuh"

SOFTMAX(f32, f32)
SOFTMAX(f16, f16)
SOFTMAX(bf16, bf16)
