package quantized

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "quantized_gpu.ptx of package quantized", PTX: &gpuPTX}
