package extreme

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "extreme_gpu.ptx of package extreme", PTX: &gpuPTX}
