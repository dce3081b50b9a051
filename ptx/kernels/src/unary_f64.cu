// Functions of one f64.
//: .* dst* n src*
#include "unary.cuh"

ALL(f64)
