package iota

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "iota_gpu.ptx of package iota", PTX: &gpuPTX}
