package normsm90

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "normsm90_gpu.ptx of package normsm90", PTX: &gpuPTX}
