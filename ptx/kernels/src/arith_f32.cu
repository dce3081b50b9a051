// Arithmetic of f32.
//: .*_scalar_f32 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_f32 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(f32, f32, b)
