package cu

import "unsafe"

// NewCUtensorMap returns a tensor map that is aligned to 128 bytes, as the driver requires. Go
// itself only guarantees 8 bytes.
func NewCUtensorMap() *CUtensorMap {
	const align = 128
	room := new([2]CUtensorMap)
	p := unsafe.Pointer(room)
	return (*CUtensorMap)(unsafe.Add(p, -uintptr(p)&(align-1)))
}
