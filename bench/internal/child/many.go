package child

import (
	_ "embed"
	"strconv"
	"strings"
)

// Many is the number of kernels in ManyPTX.
const Many = 100

//go:embed many.ptx.in
var manyKernel string

// ManyPTX returns a module of Many kernels. Each is the kernel of many.ptx.in with a number
// in place of "#". The C program generates the same PTX.
func ManyPTX() []byte {
	var b strings.Builder
	b.WriteString(".version 7.0\n.target sm_50\n.address_size 64\n")
	for k := range Many {
		b.WriteString(strings.ReplaceAll(manyKernel, "#", strconv.Itoa(k)))
	}
	return []byte(b.String())
}

// ManyNames returns the names of the kernels in ManyPTX.
func ManyNames() []string {
	names := make([]string, Many)
	for k := range names {
		names[k] = "kernel" + strconv.Itoa(k)
	}
	return names
}
