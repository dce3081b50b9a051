package radix

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "radix_gpu.ptx of package radix", PTX: &gpuPTX}
