package extremesm80

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "extremesm80_gpu.ptx of package extremesm80", PTX: &gpuPTX}
