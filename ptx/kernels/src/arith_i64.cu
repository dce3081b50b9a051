// Arithmetic of i64.
//: .*_scalar_i64 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_i64 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(i64, i64, b)
