// Arithmetic of u32.
//: .*_scalar_u32 dst* n a* b:b
//: (add|sub|mul|div|max|min)_u32 dst* n a* b* m
#include "arith.cuh"

ARITH(u32, u32, b)
