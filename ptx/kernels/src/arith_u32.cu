// Arithmetic of u32.
//: .*_scalar_u32 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_u32 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(u32, u32, b)
