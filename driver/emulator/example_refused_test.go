package emulator_test

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

func ExampleRefused() {
	for _, f := range []driver.Function{driver.FnCuMemAlloc, driver.FnCuIpcGetMemHandle} {
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
