package loader

import "unsafe"

// CString returns a C copy of s: the address of its first byte, with a zero byte after the last.
// C sees a string that ends at the first zero byte in s. The memory is Go's: it stays valid as
// long as the program keeps the pointer. C must neither keep nor free it.
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
