// Arithmetic of u64.
//: .*_scalar_u64 dst* n a* b:b
//: (add|sub|mul|div|max|min)_u64 dst* n a* b* m
#include "arith.cuh"

ARITH(u64, u64, b)
