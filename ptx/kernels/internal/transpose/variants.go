package transpose

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "transpose_gpu.ptx of package transpose", PTX: &gpuPTX}
