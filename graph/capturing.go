package graph

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// capturing knows the streams that this package captures, to refuse a second
// capture by a message that says where the first one is.
var capturing streams

type streams struct {
	mu   sync.Mutex
	open map[streamKey]*recording
}

// streamKey: a handle alone is not unique, because the per-thread stream has
// the same in every context.
type streamKey struct {
	ctx    *driver.Context
	stream driver.CUstream
}

func keyOf(s *driver.Stream) streamKey { return streamKey{s.Context(), s.Raw()} }

// enter enters a stream that r is about to capture. The per-thread stream is
// many streams with one handle, which only the driver can tell apart.
func (c *streams) enter(s *driver.Stream, r *recording) error {
	if s.Raw() == driver.CU_STREAM_PER_THREAD {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.open[keyOf(s)]; other != nil {
		return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
			"the capture that began at %v cannot have it: it is being captured already, since %v; captures do not nest, record into the Scope of that one",
			&r.where, &other.where)
	}
	if c.open == nil {
		c.open = make(map[streamKey]*recording)
	}
	c.open[keyOf(s)] = r
	return nil
}

// leave takes the stream out if it is r that captures it.
func (c *streams) leave(s *driver.Stream, r *recording) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[keyOf(s)] == r {
		delete(c.open, keyOf(s))
	}
}

// place is where in the program something began. Marking one allocates nothing.
type place struct {
	pcs [8]uintptr
	n   int
}

func (p *place) mark() { p.n = runtime.Callers(2, p.pcs[:]) }

// String is the innermost function outside this package.
func (p *place) String() string {
	frames := runtime.CallersFrames(p.pcs[:p.n])
	for {
		f, more := frames.Next()
		if !inside(f.Function) || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}

const packagePath = "github.com/purecuda/cuda/graph."

func inside(function string) bool {
	return len(function) > len(packagePath) && function[:len(packagePath)] == packagePath
}
