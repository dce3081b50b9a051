// Arithmetic of f32.
//: .*_scalar_f32 dst* n a* b:b
//: (add|sub|mul|div|max|min)_f32 dst* n a* b* m
#include "arith.cuh"

ARITH(f32, f32, b)
