// Package gen generates typed Go from the kernels in PTX text. Only the command ptx2go
// uses it.
package gen

import "github.com/purecuda/cuda/ptx"

// unit is one PTX file, or one CUDA source with the PTX compiled from it.
type unit struct {
	path     string // path as passed by the caller, for messages
	ptx      string // path of the embedded text
	base     string // file name without extension, such as axpy
	ident    string // base as part of a Go name, such as Axpy
	mod      *ptx.Module
	kernels  []*kernel
	structs  []*structType
	compiled []byte   // the PTX, if it was compiled from a CUDA source
	source   *csource // nil if there is no CUDA source
}

type kernel struct {
	name   string // name in the PTX
	goName string
	doc    string
	at     place
	sig    ptx.Signature
	params []*param
	block  [3]int // block size of the grid helper; 0 if not specified
}

type param struct {
	ptx.Param
	name   string // name in the source or, if there is no source, in the PTX
	arg    string // name of the Go parameter
	field  string // name of the Go field
	mode   mode
	memory bool   // the parameter is device memory
	typ    string // Go type of the value or of the memory's elements; "" if unknown
	sized  bool   // typ is declared elsewhere in the package; generated code asserts its size
}

// mode is the declared access of a kernel to the memory of a parameter.
type mode uint8

const (
	modeNone mode = iota
	modeIn
	modeOut
	modeInOut
	modeRaw // an address passed as a number, without memory
)

// structType is the Go type of a struct passed by value.
type structType struct {
	name string
	doc  string
	body string // fields, one per line
	size int
	at   place
}
