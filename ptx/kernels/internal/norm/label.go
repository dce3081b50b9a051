package norm

import (
	"unsafe"

	"github.com/purecuda/cuda/ptx/kernels/internal/rows"
)

// Label returns the name of the norm that the last argument selects, such as rmsnorm_f32. It is for
// driver.Kernel.SetLabel.
func Label(_ string, args []unsafe.Pointer) string {
	of, name := *(*rows.Half)(args[len(args)-1]), "layernorm"
	if of&rows.RMS != 0 {
		name = "rmsnorm"
	}
	return name + [...]string{rows.F16: "_f16", rows.BF16: "_bf16", rows.F32: "_f32", 3: ""}[of&3]
}
