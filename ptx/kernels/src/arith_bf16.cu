// Arithmetic of bf16.
//: .*_scalar_bf16 >dst*$3 n <a*$3 b:b$3
//: (add|sub|mul|div|max|min)_bf16 >dst*$2 n <a*$2 <b*$2 m
#include "arith.cuh"

ARITH(bf16, u16, (bf16{b}))
