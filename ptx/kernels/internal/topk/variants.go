package topk

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "topk_gpu.ptx of package topk", PTX: &gpuPTX}
