package kernels

import "github.com/purecuda/cuda/ptx/num"

// F16 and BF16 are the element types of 16-bit kernels; package num converts them.
type (
	F16  = num.F16
	BF16 = num.BF16
)
