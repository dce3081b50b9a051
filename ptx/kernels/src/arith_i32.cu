// Arithmetic of i32.
//: .*_scalar_i32 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_i32 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(i32, i32, b)
