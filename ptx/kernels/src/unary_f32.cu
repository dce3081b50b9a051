// Functions of one f32.
//: .* >dst*$2 n <src*$2
#include "unary.cuh"

ALL(f32)
