package softmax

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "softmax_gpu.ptx of package softmax", PTX: &gpuPTX}
