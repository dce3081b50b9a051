// Package gen makes typed Go of the kernels in PTX text. The command ptx2go is
// its only user.
package gen

import "github.com/purecuda/cuda/ptx"

// unit is one PTX file, or one CUDA source whose PTX a compiler made.
type unit struct {
	path     string // as it was given, for messages
	ptx      string // path of the text that is embedded
	base     string // its name without extension: axpy
	ident    string // the same as part of a Go name: Axpy
	mod      *ptx.Module
	kernels  []*kernel
	structs  []*structType
	compiled []byte   // the text, where it was made of a CUDA source
	source   *csource // nil: none was found
}

// kernel is one entry that gets a launcher.
type kernel struct {
	name   string // in the PTX
	goName string
	doc    string
	at     place
	sig    ptx.Signature
	params []*param
	block  [3]int // of the grid helper; sizes that are 0 are not stated
}

// param is one parameter of a kernel.
type param struct {
	ptx.Param
	name   string // as the source says, else as the PTX does
	arg    string // the Go parameter
	field  string // the Go field
	mode   mode
	memory bool   // takes device memory
	typ    string // Go type of the value or of the memory's elements; "" for memory of any
	sized  bool   // typ is somebody else's: its size is asserted
}

// mode is what a kernel does to a parameter's memory.
type mode uint8

const (
	modeNone mode = iota
	modeIn
	modeOut
	modeInOut
	modeRaw // an address, not memory
)

// structType is a Go type for a struct that is passed by value.
type structType struct {
	name string
	doc  string
	body string // fields, one per line
	size int
	at   place
}
