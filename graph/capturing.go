package graph

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver"
)

// capturing knows the streams that this package captures, to refuse a second
// capture by a message that says where the first one is.
var capturing = newStreams()

type streams struct {
	mu     sync.Mutex // held during no call of the driver
	open   map[streamKey]*recording
	shut   map[streamKey]int // how many calls keep captures out
	opened *sync.Cond
}

func newStreams() *streams {
	c := &streams{open: make(map[streamKey]*recording), shut: make(map[streamKey]int)}
	c.opened = sync.NewCond(&c.mu)
	return c
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
	for c.shut[keyOf(s)] > 0 {
		c.opened.Wait()
	}
	if other := c.open[keyOf(s)]; other != nil {
		return refuse(driver.CUDA_ERROR_ILLEGAL_STATE,
			"the capture that began at %v cannot have it: it is being captured already, since %v; captures do not nest, record into the Scope of that one",
			&r.where, &other.where)
	}
	c.open[keyOf(s)] = r
	return nil
}

// keepOut has captures of s wait until letIn. It reports false if there is one.
func (c *streams) keepOut(s *driver.Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[keyOf(s)] != nil {
		return false
	}
	c.shut[keyOf(s)]++
	return true
}

func (c *streams) letIn(s *driver.Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut[keyOf(s)]--; c.shut[keyOf(s)] == 0 {
		delete(c.shut, keyOf(s))
		c.opened.Broadcast()
	}
}

// of returns the capture of a stream, if it is one of this package.
func (c *streams) of(s *driver.Stream) *recording {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[keyOf(s)]
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
