package emulator

import (
	"sync/atomic"
	"unsafe"
)

// Other streams, kernels or the host may write a word while a stream waits for it, so these words
// are read and written atomically. The address space aligns them.

func loadWord(b []byte) uint64 {
	if len(b) == 4 {
		return uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(&b[0]))))
	}
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[0])))
}

func storeWord(b []byte, v uint64) {
	if len(b) == 4 {
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), uint32(v))
		return
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), v)
}
