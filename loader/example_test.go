package loader_test

import (
	"fmt"

	"github.com/purecuda/cuda/loader"
)

// A library's function may be a C address or a Go function. Callers use both in the same way.
func ExampleProc() {
	add := loader.FuncProc(func(a loader.Args) uintptr { return a.Word(0) + a.Word(1) })
	fmt.Println(add.IsGo(), add.Call(2, 3))
	// Output: true 5
}
