// Arithmetic of u64.
//: .*_scalar_u64 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_u64 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(u64, u64, b)
