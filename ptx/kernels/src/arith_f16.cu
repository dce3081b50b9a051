// Arithmetic of f16.
//: .*_scalar_f16 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_f16 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(f16, u16, (f16{b}))
