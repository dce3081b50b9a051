package loader

import "unsafe"

// CString returns the address of a NUL-terminated C copy of s. If s contains a zero byte, C sees
// the string end there. The memory belongs to Go and stays valid while the program keeps the
// pointer. C must neither retain nor free it.
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
