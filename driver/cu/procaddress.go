package cu

import (
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// procAddress asks cuGetProcAddress for a function by base name and the CUDA
// version that brought the ABI in question. It returns 0 if the driver has
// none: an error, or success with a null pointer.
//
// The flags are 0: streams 0 mean the legacy default stream, as in a C program
// that does not ask for the other. See cuGetProcAddress at
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html
func (l *systemLibrary) procAddress(info *functionInfo) uintptr {
	var addr uintptr // a C address: nothing the garbage collector owns
	var found CUdriverProcAddressQueryResult
	a := struct {
		c       loader.Call
		symbol  *byte
		addr    *uintptr
		version uintptr
		flags   uintptr
		found   *CUdriverProcAddressQueryResult
		_       [3]uintptr
	}{
		c:       loader.Call{Proc: &l.getProc, N: 5},
		symbol:  unsafe.StringData(info.base),
		addr:    &addr,
		version: uintptr(info.since),
		found:   &found,
	}
	if !l.query {
		a.c.N, a.found = 4, nil
	}
	if uint32(loader.Invoke(&a.c)) != 0 || found != CU_GET_PROC_ADDRESS_SUCCESS {
		return 0
	}
	return addr
}
