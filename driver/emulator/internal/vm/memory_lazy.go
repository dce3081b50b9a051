//go:build linux && !race

package vm

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Large allocations are mapped separately instead of coming from Go's heap. The heap clears reused
// memory as a whole, while a mapping is zeroed page by page on first access. (The race detector
// only sees Go's heap, so there are no mappings with it.)
//
// A mapping is never returned to the system. A kernel that still runs when its memory is freed may
// access it until its next instruction finds the region dead, and that must not end the process.
// Mappings are therefore kept for later allocations, without their pages.
const (
	lazyLeast = 1 << 20
	hugePage  = 2 << 20
)

// mapping is one region's use of mapped memory. Each use has its own value, because a region's
// cleanup runs long after Free, when another region may have the memory.
type mapping struct {
	whole    []byte // what was mapped
	released atomic.Bool
}

var idle struct {
	mu   sync.Mutex
	list map[uint64][][]byte // by size
}

// newLazyBuffer makes zeroed memory that uses no pages until it is accessed. It returns nil where
// memory must come from the heap.
func newLazyBuffer(size uint64) ([]byte, *mapping) {
	if size < lazyLeast || size > 1<<46 {
		return nil, nil
	}
	rounded := (size + lazyLeast - 1) &^ (lazyLeast - 1)
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
	return b[start:][:size:size], &mapping{whole: b}
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

// release drops the pages and keeps the mapping. It may be called twice.
func (m *mapping) release() {
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
