package strided

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "strided_gpu.ptx of package strided", PTX: &gpuPTX}
