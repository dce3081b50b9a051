// Arithmetic of i64.
//: .*_scalar_i64 dst* n a* b:b
//: (add|sub|mul|div|max|min)_i64 dst* n a* b* m
#include "arith.cuh"

ARITH(i64, i64, b)
