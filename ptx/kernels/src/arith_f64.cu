// Arithmetic of f64.
//: .*_scalar_f64 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_f64 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(f64, f64, b)
