// Functions of one f64.
//: .* >dst*$2 n <src*$2
#include "unary.cuh"

ALL(f64)
