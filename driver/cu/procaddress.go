package cu

import (
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// procAddress looks up a function with cuGetProcAddress, by its base name and the CUDA version that
// introduced the ABI. If the driver does not have the function, procAddress returns 0. In that
// case, the driver itself returns either an error, or success and a null pointer.
//
// The flags are 0, so stream 0 means the legacy default stream, as in a C program that does not
// request the per-thread one. See cuGetProcAddress at
// https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DRIVER__ENTRY__POINT.html
func (l *systemLibrary) procAddress(info *functionInfo) uintptr {
	var addr uintptr // a C address, not Go memory
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
