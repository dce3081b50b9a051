package norm

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "norm_gpu.ptx of package norm", PTX: &gpuPTX}
