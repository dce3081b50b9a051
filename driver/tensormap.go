package driver

import (
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// NewCUtensorMap returns a tensor map with the alignment that the driver requires: 128 bytes, where
// Go only guarantees 8.
func NewCUtensorMap() *cu.CUtensorMap {
	const align = 128
	room := new([2]cu.CUtensorMap)
	p := unsafe.Pointer(room)
	return (*cu.CUtensorMap)(unsafe.Add(p, -uintptr(p)&(align-1)))
}
