package cast

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "cast_gpu.ptx of package cast", PTX: &gpuPTX}
