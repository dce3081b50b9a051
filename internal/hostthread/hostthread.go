// Package hostthread tracks the threads that run host functions, on which CUDA must not be called.
package hostthread

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// Running is the number of threads that are marked.
var Running atomic.Int32

var threads struct {
	mu  sync.Mutex
	set map[uint64]struct{}
}

// Mark marks the thread with the given ID as running a host function until unmark is called. If the
// thread is already marked, unmark does nothing.
func Mark(id uint64) (unmark func()) {
	threads.mu.Lock()
	defer threads.mu.Unlock()
	if _, nested := threads.set[id]; nested {
		return func() {}
	}
	if threads.set == nil {
		threads.set = make(map[uint64]struct{})
	}
	threads.set[id] = struct{}{}
	Running.Add(1)
	return func() {
		threads.mu.Lock()
		defer threads.mu.Unlock()
		delete(threads.set, id)
		Running.Add(-1)
	}
}

// Inside reports whether the caller runs on a marked thread. If no host function is running, it
// costs one atomic load.
func Inside() bool { return Running.Load() != 0 && onMarked() }

func onMarked() bool {
	threads.mu.Lock()
	defer threads.mu.Unlock()
	_, inside := threads.set[loader.ThreadID()]
	return inside
}

// Refuse returns an error if the caller runs inside a host function. It does not detect calls that
// a host function makes through another goroutine.
func Refuse() error {
	if !Inside() {
		return nil
	}
	return fmt.Errorf("a host function may not call CUDA, have it signal a goroutine that does: %w",
		cu.CUDA_ERROR_NOT_PERMITTED)
}

// ThreadID returns the ID of the OS thread that currently runs the calling goroutine. It is meant
// for packages that lock goroutines to threads, as CUDA sometimes requires.
func ThreadID() uint64 { return loader.ThreadID() }
