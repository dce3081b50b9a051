package softmaxsm90

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "softmaxsm90_gpu.ptx of package softmaxsm90", PTX: &gpuPTX}
