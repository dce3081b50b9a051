package scan

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "scan_gpu.ptx of package scan", PTX: &gpuPTX}
