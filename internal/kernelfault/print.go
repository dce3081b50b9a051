package kernelfault

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
)

// Prints reports whether PTX or machine code mentions vprintf, and therefore may print text.
func Prints(code []byte) bool { return bytes.Contains(code, []byte("vprintf")) }

// printer makes the driver print the output of kernels, which the driver keeps in a buffer on the
// device. Driver 580 prints that output in cuCtxSynchronize, in cuEventSynchronize, and in
// cuStreamSynchronize of any stream. Waits poll instead of calling these functions, so the printer
// synchronizes a stream of its own, in which nothing runs. It is a non-blocking stream, so it does
// not wait for other work.
type printer struct {
	modules atomic.Int32 // number of loaded modules whose kernels may print

	mu     sync.RWMutex // write-locked to change the following fields, read-locked while the stream is used
	stream cu.CUstream
	closed bool
}

// If a loaded module may print, Print prints the output of kernels that have ended, and returns true.
// Otherwise it does nothing. It passes errors to note instead of returning them, because the work
// that was waited for has succeeded.
func (s *State) Print() bool {
	if s.printer.modules.Load() == 0 {
		return false
	}
	if err := errors.Join(s.printer.synchronize(s.d), flush()); err != nil {
		s.note(fmt.Errorf("the text of kernels may be incomplete: %w", err))
	}
	return true
}

func (p *printer) synchronize(d *cu.Driver) error {
	if err := p.open(d); err != nil {
		return err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return nil
	}
	return d.CuStreamSynchronize(p.stream)
}

// open creates the stream. If that fails, the next call tries again.
func (p *printer) open(d *cu.Driver) error {
	p.mu.RLock()
	ready := p.stream != 0 || p.closed
	p.mu.RUnlock()
	if ready {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream != 0 || p.closed {
		return nil
	}
	var stream cu.CUstream
	if err := d.CuStreamCreate(&stream, uint32(cu.CU_STREAM_NON_BLOCKING)); err != nil {
		return err
	}
	p.stream = stream
	return nil
}

func (p *printer) close(d *cu.Driver) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.stream == 0 {
		return nil
	}
	err := d.CuStreamDestroy(p.stream)
	p.stream = 0
	return err
}

// Text is a loaded module whose kernels may print. The methods of a nil Text do nothing.
type Text struct{ state *State }

// Text records that a module was loaded. If its kernels cannot print, Text returns nil.
func (s *State) Text(prints bool) *Text {
	if !prints {
		return nil
	}
	s.printer.modules.Add(1)
	return &Text{s}
}

// Drain prints text. Call it before unloading the module, because the module contains the format
// strings.
func (t *Text) Drain() {
	if t != nil {
		t.state.Print()
	}
}

// Free records that the module was unloaded. If unloading failed, its kernels may still print.
func (t *Text) Free(unloaded error) {
	if t != nil && unloaded == nil {
		t.state.printer.modules.Add(-1)
	}
}
