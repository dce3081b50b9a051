// Package kernels contains a kernel for each part of Go that kernels can use. Tests run each kernel
// as plain Go and on a device, and compare the results. The comments become rows of the language
// reference.
package kernels

import (
	"embed"
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Source contains the source files of this package.
//
//go:embed *.go
var Source embed.FS

const (
	Threads = 8  // number of threads in a launch
	Inputs  = 2  // number of inputs of each thread
	Outputs = 24 // number of outputs of each thread
)

// Kernel is a kernel. All kernels have the same signature.
type Kernel struct {
	Name string
	Run  func(t gpu.Thread, in, out []int64)
}

// args returns the inputs of a thread, and the memory for its results.
func args(t gpu.Thread, in, out []int64) (a, b int64, o []int64) {
	i := t.ThreadX()
	return in[Inputs*i], in[Inputs*i+1], out[Outputs*i : Outputs*(i+1)]
}

func bit(x bool) int64 {
	if x {
		return 1
	}
	return 0
}

func bits32(x float32) int64 { return int64(math.Float32bits(x)) }

func bits64(x float64) int64 { return int64(math.Float64bits(x)) }

// All lists the kernels in the order of the files.
var All = []Kernel{
	{"addresses", addresses},
	{"boxes", boxes},
	{"moreConversions", moreConversions},
	{"calls", calls},
	{"recursion", recursion},
	{"closures", closures},
	{"methods", methods},
	{"interfaces", interfaces},
	{"generics", generics},
	{"signedOperators", signedOperators},
	{"unsignedOperators", unsignedOperators},
	{"floatOperators", floatOperators},
	{"complexOperators", complexOperators},
	{"logicalOperators", logicalOperators},
	{"comparisons", comparisons},
	{"genericOperators", genericOperators},
	{"assignmentOperators", assignmentOperators},
	{"constantStrings", constantStrings},
	{"stringComparisons", stringComparisons},
	{"ifs", ifs},
	{"loops", loops},
	{"ranges", ranges},
	{"rangesOverFunctions", rangesOverFunctions},
	{"switches", switches},
	{"typeSwitches", typeSwitches},
	{"labels", labels},
	{"declarations", declarations},
	{"assignments", assignments},
	{"basicTypes", basicTypes},
	{"composites", composites},
	{"indexing", indexing},
	{"conversions", conversions},
	{"builtins", builtins},
	{"panics", panics},
	{"sizes", sizes},
	{"packageVariables", packageVariables},
	{"sharedMemory", sharedMemory},
}
