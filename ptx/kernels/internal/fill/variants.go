package fill

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "fill_gpu.ptx of package fill", PTX: &gpuPTX}
