package quantizedsm80

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "quantizedsm80_gpu.ptx of package quantizedsm80", PTX: &gpuPTX}
