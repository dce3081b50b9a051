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

// ManyPTX returns a module of Many kernels named by ManyName: the kernel of many.ptx.in
// with numbers in place of "#". The C program makes the same text.
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
