package arith

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "arith_gpu.ptx of package arith", PTX: &gpuPTX}
