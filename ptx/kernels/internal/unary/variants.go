package unary

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "unary_gpu.ptx of package unary", PTX: &gpuPTX}
