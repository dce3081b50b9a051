package launchers

import "github.com/purecuda/cuda/ptx/num"

// F16 and BF16 are the 16-bit float types.
type (
	F16  = num.F16
	BF16 = num.BF16
)
