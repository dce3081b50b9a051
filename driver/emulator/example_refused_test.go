package emulator_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

func ExampleRefused() {
	for _, f := range []cu.Function{cu.FnCuMemAlloc, cu.FnCuIpcGetMemHandle} {
		if what, refused := emulator.Refused(f.Symbol()); refused {
			fmt.Printf("%v is refused: there is no emulation of %s\n", f, what)
		} else {
			fmt.Printf("%v is implemented\n", f)
		}
	}
	// Output:
	// cuMemAlloc is implemented
	// cuIpcGetMemHandle is refused: there is no emulation of memory and events of other processes
}
