package norm

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is what package kernels loads: each kernel alone, compiled for its types. Module loads the whole file.
var Code = variant.Code{Name: "norm_gpu.ptx of package norm", PTX: &gpuPTX}
