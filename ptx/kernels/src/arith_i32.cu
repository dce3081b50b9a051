// Arithmetic of i32.
//: .*_scalar_i32 dst* n a* b:b
//: (add|sub|mul|div|max|min)_i32 dst* n a* b* m
#include "arith.cuh"

ARITH(i32, i32, b)
