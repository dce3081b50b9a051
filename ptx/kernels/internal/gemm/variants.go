package gemm

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is what package kernels loads: each kernel alone, compiled for its types. Module loads the whole file.
var Code = variant.Code{Name: "gemm_gpu.ptx of package gemm", PTX: &gpuPTX}
