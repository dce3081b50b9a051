package histogram

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "histogram_gpu.ptx of package histogram", PTX: &gpuPTX}
