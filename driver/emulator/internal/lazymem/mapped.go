//go:build linux && !race

package lazymem

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const (
	smallest = 1 << 20
	hugePage = 2 << 20
)

// Mapping is one use of mapped memory. Each use has its own value, because the finalizer of a freed
// region runs long after Free, when another region may have the memory.
type Mapping struct {
	whole    []byte // what was mapped
	released atomic.Bool
}

var idle struct {
	mu   sync.Mutex
	list map[uint64][][]byte // by size
}

// New makes a buffer of zeros that uses no pages until it is accessed. It returns nil if the memory
// must come from Go's heap: for small buffers, and on other systems. The caller releases the mapping.
func New(size uint64) ([]byte, *Mapping) {
	if size < smallest || size > 1<<46 {
		return nil, nil
	}
	rounded := (size + smallest - 1) &^ (smallest - 1)
	b := takeIdle(rounded)
	if b == nil {
		var err error
		b, err = syscall.Mmap(-1, 0, int(rounded+hugePage), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
		if err != nil {
			return nil, nil // whether the heap succeeds decides
		}
		// With large pages, first access to all of it is as cheap as clearing it. A system without
		// large pages uses small ones.
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	}
	start := -uintptr(unsafe.Pointer(&b[0])) % hugePage
	return b[start:][:size:size], &Mapping{whole: b}
}

func takeIdle(rounded uint64) []byte {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	l := idle.list[rounded]
	if len(l) == 0 {
		return nil
	}
	b := l[len(l)-1]
	idle.list[rounded] = l[:len(l)-1]
	return b
}

// Release drops the pages and keeps the mapping. It may be called twice.
func (m *Mapping) Release() {
	if m == nil || m.released.Swap(true) {
		return
	}
	if syscall.Madvise(m.whole, syscall.MADV_DONTNEED) != nil {
		return // the contents are still there: do not reuse it
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if idle.list == nil {
		idle.list = make(map[uint64][][]byte)
	}
	rounded := uint64(len(m.whole) - hugePage)
	idle.list[rounded] = append(idle.list[rounded], m.whole)
}
