// Functions of one f32.
//: .* dst* n src*
#include "unary.cuh"

ALL(f32)
