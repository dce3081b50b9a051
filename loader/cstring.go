package loader

import "unsafe"

// CString returns a copy of s as C has strings: the address of its first byte,
// with a zero byte after the last. A zero byte in s ends it there for C. The memory
// is Go's: it stays as long as the program holds the pointer, and C must not keep
// or free it.
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// GoString returns a copy of the C string at p, or "" for nil.
func GoString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
