package random

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "random_gpu.ptx of package random", PTX: &gpuPTX}
