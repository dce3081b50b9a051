// Functions of one bf16.
//: .* dst* n src*
#include "unary.cuh"

ALL(bf16)
