package library

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "library_gpu.ptx of package library", PTX: &gpuPTX}
