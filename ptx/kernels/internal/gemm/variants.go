package gemm

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "gemm_gpu.ptx of package gemm", PTX: &gpuPTX}
