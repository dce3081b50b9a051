package cu

import "unsafe"

// NewCUtensorMap returns a tensor map with the alignment that the driver requires: 128 bytes, where
// Go only guarantees 8.
func NewCUtensorMap() *CUtensorMap {
	const align = 128
	room := new([2]CUtensorMap)
	p := unsafe.Pointer(room)
	return (*CUtensorMap)(unsafe.Add(p, -uintptr(p)&(align-1)))
}
