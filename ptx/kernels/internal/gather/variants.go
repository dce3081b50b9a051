package gather

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "gather_gpu.ptx of package gather", PTX: &gpuPTX}
