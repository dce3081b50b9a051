package cu

import (
	"fmt"
	"iter"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// Function identifies one function of the driver API in one of its ABIs. Where
// CUDA replaced the ABI under the same C name, the current one has the plain
// name (FnCuGraphExecUpdate) and an older one that drivers in use still need
// has the CUDA version that brought it as suffix (FnCuGraphExecUpdate_v10020).
//
// The ids are those of this version of the package: they say nothing outside
// the process.
type Function uint16

// functionInfo is what the headers say of a Function. The strings end in NUL,
// so that they can be handed to C as they are.
type functionInfo struct {
	name   string
	base   string
	symbol string
	since  uint16
}

// Functions yields every function that this package binds, in the order of
// their symbols.
func Functions() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		for f := range Function(functionCount) {
			if !yield(f) {
				return
			}
		}
	}
}

// String returns the C name, for example cuMemAlloc, with the version suffix
// of the Go method for an older ABI: cuGraphExecUpdate_v10020.
func (f Function) String() string {
	if f >= functionCount {
		return fmt.Sprintf("Function(%d)", uint16(f))
	}
	return trimNUL(functionTable[f].name)
}

// Base returns the name that all ABIs of the function share, by which
// cuGetProcAddress knows it.
func (f Function) Base() string {
	if f >= functionCount {
		return ""
	}
	return trimNUL(functionTable[f].base)
}

// Symbol returns the name that the library exports, for example cuMemAlloc_v2.
// Libraries are asked for their functions by this name.
func (f Function) Symbol() string {
	if f >= functionCount {
		return ""
	}
	return trimNUL(functionTable[f].symbol)
}

// Since returns the CUDA version that brought the function with this ABI, as
// the driver counts: 12040 is CUDA 12.4.
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

// slice returns the functions by their id. functions has nothing but Procs in
// the order of the ids, which a test holds.
func (t *functions) slice() *[functionCount]loader.Proc {
	return (*[functionCount]loader.Proc)(unsafe.Pointer(t))
}

// cudaVersion writes a CUDA version as people do: 12.4 for 12040.
func cudaVersion(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}
