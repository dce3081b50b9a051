// Arithmetic of f16.
//: .*_scalar_f16 dst* n a* b:b
//: (add|sub|mul|div|max|min)_f16 dst* n a* b* m
#include "arith.cuh"

ARITH(f16, u16, (f16{b}))
