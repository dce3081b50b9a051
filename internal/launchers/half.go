package launchers

import "github.com/purecuda/cuda/ptx/num"

// F16 and BF16 are the types of 16-bit floats.
type (
	F16  = num.F16
	BF16 = num.BF16
)
