package cu

import (
	"fmt"
	"iter"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// Function identifies one function of the driver API in one of its ABIs. If CUDA replaced the
// ABI under the same C name, the current one has the plain name (FnCuGraphExecUpdate). An older
// one that drivers in use still need has a suffix with the CUDA version that introduced it
// (FnCuGraphExecUpdate_v10020).
//
// The numbers are those of this version of the package. They mean nothing outside the process.
type Function uint16

// functionInfo is what the headers say about a Function. The strings end in NUL, so that they
// can be passed to C directly.
type functionInfo struct {
	name   string
	base   string
	symbol string
	since  uint16
}

// Functions yields every function that this package binds, ordered by symbol.
func Functions() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		for f := range Function(functionCount) {
			if !yield(f) {
				return
			}
		}
	}
}

// String returns the C name, such as cuMemAlloc. For an older ABI it has the version suffix of
// the Go method: cuGraphExecUpdate_v10020.
func (f Function) String() string {
	if f >= functionCount {
		return fmt.Sprintf("Function(%d)", uint16(f))
	}
	return trimNUL(functionTable[f].name)
}

// Base returns the name that all ABIs of the function share. cuGetProcAddress uses this name.
func (f Function) Base() string {
	if f >= functionCount {
		return ""
	}
	return trimNUL(functionTable[f].base)
}

// Symbol returns the name that the library exports, such as cuMemAlloc_v2. Libraries look up
// functions by this name.
func (f Function) Symbol() string {
	if f >= functionCount {
		return ""
	}
	return trimNUL(functionTable[f].symbol)
}

// Since returns the CUDA version that introduced the function with this ABI, in the driver's
// format: 12040 is CUDA 12.4.
func (f Function) Since() int {
	if f >= functionCount {
		return 0
	}
	return int(functionTable[f].since)
}

// FunctionBySymbol returns the function that a library exports as symbol.
func FunctionBySymbol(symbol string) (Function, bool) {
	low, high := 0, functionCount
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch c := strings.Compare(trimNUL(functionTable[mid].symbol), symbol); {
		case c == 0:
			return Function(mid), true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

func trimNUL(s string) string { return s[:len(s)-1] }

// slice returns the functions indexed by id. functions has only Procs in the order of the ids,
// which a test checks.
func (t *functions) slice() *[functionCount]loader.Proc {
	return (*[functionCount]loader.Proc)(unsafe.Pointer(t))
}

// cudaVersion formats a CUDA version: 12.4 for 12040.
func cudaVersion(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}
