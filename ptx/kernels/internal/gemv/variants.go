package gemv

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "gemv_gpu.ptx of package gemv", PTX: &gpuPTX}
