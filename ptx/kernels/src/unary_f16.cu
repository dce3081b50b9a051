// Functions of one f16.
//: .* dst* n src*
#include "unary.cuh"

ALL(f16)
