package cu

import (
	"fmt"
	"iter"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// Function identifies one function of the driver API in one ABI. If CUDA changed the ABI of a C
// name, the current ABI has the plain name (FnCuGraphExecUpdate). An older ABI that supported
// drivers still need has a suffix with the CUDA version that introduced it
// (FnCuGraphExecUpdate_v10020).
//
// The numbers can change with each version of this package. Do not store them outside the process.
type Function uint16

// functionInfo describes a Function. The strings end in NUL because they are passed to C directly.
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

// String returns the C name, such as cuMemAlloc. The name of an older ABI ends with the same
// version suffix as the Go method: cuGraphExecUpdate_v10020.
func (f Function) String() string {
	if f >= functionCount {
		return fmt.Sprintf("Function(%d)", uint16(f))
	}
	return trimNUL(functionTable[f].name)
}

// Base returns the name shared by all ABIs of the function. cuGetProcAddress looks functions up by
// this name.
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

// FunctionBySymbol returns the function that a library exports under the given symbol.
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

// slice returns the functions as an array indexed by Function. This is valid because the fields of
// functions are all Procs, in the order of the Functions. A test checks this order.
func (t *functions) slice() *[functionCount]loader.Proc {
	return (*[functionCount]loader.Proc)(unsafe.Pointer(t))
}

// cudaVersion formats a CUDA version: it returns "12.4" for 12040.
func cudaVersion(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}
