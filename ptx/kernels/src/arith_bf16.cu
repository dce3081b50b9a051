// Arithmetic of bf16.
//: .*_scalar_bf16 dst* n a* b:b
//: (add|sub|mul|div|max|min)_bf16 dst* n a* b* m
#include "arith.cuh"

ARITH(bf16, u16, (bf16{b}))
