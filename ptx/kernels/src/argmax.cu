// Where the largest element of rows and of whole arrays is.
//: argmax_.* >dst*int64 <src*$2 rows cols pitch parts <>work*uint64
#include "argmax.cuh"

ARGMAX(f32, ArgMax<f32>)
ARGMAX(f16, ArgMax<f16>)
ARGMAX(bf16, ArgMax<bf16>)
ARGMAX(f64, ArgMax<f64>)
ARGMAX(i32, ArgMax<i32>)
ARGMAX(i64, ArgMax<i64>)
