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

// Mapping is one use of a block of mapped memory. Each use has its own Mapping, because the
// finalizer of a freed region may run long after Free, when another region already uses the memory.
type Mapping struct {
	whole    []byte // the entire mapping
	released atomic.Bool
}

var idle struct {
	mu   sync.Mutex
	list map[uint64][][]byte // unused mappings, by size
}

// New returns a zeroed buffer that uses no pages until it is accessed. The caller must release the
// mapping. New returns nil if the caller must allocate on Go's heap instead, as for small buffers.
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
			return nil, nil // the caller tries Go's heap instead
		}
		// With huge pages, accessing the whole buffer for the first time costs no more than
		// clearing it. A system without huge pages uses small ones.
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

// Release returns the pages to the system but keeps the mapping. A second call does nothing.
func (m *Mapping) Release() {
	if m == nil || m.released.Swap(true) {
		return
	}
	if syscall.Madvise(m.whole, syscall.MADV_DONTNEED) != nil {
		return // the old contents are still there, so the mapping cannot be reused
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	if idle.list == nil {
		idle.list = make(map[uint64][][]byte)
	}
	rounded := uint64(len(m.whole) - hugePage)
	idle.list[rounded] = append(idle.list[rounded], m.whole)
}
