// Functions of one bf16.
//: .* >dst*$2 n <src*$2
#include "unary.cuh"

ALL(bf16)
