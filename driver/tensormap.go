package driver

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// NewCUtensorMap returns a tensor map that lies where the driver wants it: C
// aligns the type to 128 bytes, Go only to 8.
func NewCUtensorMap() *cu.CUtensorMap {
	const align = 128
	room := new([2]cu.CUtensorMap)
	p := unsafe.Pointer(room)
	return (*cu.CUtensorMap)(unsafe.Add(p, -uintptr(p)&(align-1)))
}
