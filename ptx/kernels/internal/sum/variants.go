package sum

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "sum_gpu.ptx of package sum", PTX: &gpuPTX}
