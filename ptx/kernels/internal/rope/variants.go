package rope

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "rope_gpu.ptx of package rope", PTX: &gpuPTX}
