// Functions of one f16.
//: .* >dst*$2 n <src*$2
#include "unary.cuh"

ALL(f16)
