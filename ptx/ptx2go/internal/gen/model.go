// Package gen generates typed Go from the kernels in PTX text. Only the command ptx2go
// uses it.
package gen

import "github.com/purecuda/cuda/ptx"

// unit is one PTX file, or one CUDA source with the PTX compiled from it.
type unit struct {
	path     string // as given, for messages
	ptx      string // path of the embedded text
	base     string // its name without extension: axpy
	ident    string // the same as part of a Go name: Axpy
	mod      *ptx.Module
	kernels  []*kernel
	structs  []*structType
	compiled []byte   // the text, if compiled from a CUDA source
	source   *csource // nil if none was found
}

// kernel is one entry that gets a launcher.
type kernel struct {
	name   string // name in the PTX
	goName string
	doc    string
	at     place
	sig    ptx.Signature
	params []*param
	block  [3]int // block size of the grid helper; 0 means not stated
}

// param is one parameter of a kernel.
type param struct {
	ptx.Param
	name   string // as in the source, else as in the PTX
	arg    string // name of the Go parameter
	field  string // name of the Go field
	mode   mode
	memory bool   // it is device memory
	typ    string // Go type of the value or of the memory's elements; "" for memory of any type
	sized  bool   // typ is declared elsewhere in the package: its size is asserted
}

// mode is how a kernel accesses a parameter's memory.
type mode uint8

const (
	modeNone mode = iota
	modeIn
	modeOut
	modeInOut
	modeRaw // an address without memory
)

// structType is a Go type for a struct that is passed by value.
type structType struct {
	name string
	doc  string
	body string // fields, one per line
	size int
	at   place
}
