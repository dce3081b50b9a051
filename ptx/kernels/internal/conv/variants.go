package conv

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "conv_gpu.ptx of package conv", PTX: &gpuPTX}
