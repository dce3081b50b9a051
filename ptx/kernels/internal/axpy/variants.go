package axpy

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "axpy_gpu.ptx of package axpy", PTX: &gpuPTX}
