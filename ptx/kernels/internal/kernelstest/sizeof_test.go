package kernelstest

import "unsafe"

func sizeOf[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}
