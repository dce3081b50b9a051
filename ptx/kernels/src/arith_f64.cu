// Arithmetic of f64.
//: .*_scalar_f64 dst* n a* b:b
//: (add|sub|mul|div|max|min)_f64 dst* n a* b* m
#include "arith.cuh"

ARITH(f64, f64, b)
