package fft

import "github.com/purecuda/cuda/ptx/kernels/internal/variant"

// Code is the source of variants of the kernels.
var Code = variant.Code{Name: "fft_gpu.ptx of package fft", PTX: &gpuPTX}
