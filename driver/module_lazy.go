package driver

import (
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver/image"
)

// Lazy returns a module that loads the best image on first use. Until then it makes no call, checks
// nothing, and Module.Raw returns 0. Any number of goroutines may use it: the first loads it and
// the others wait. After an error the next use tries again.
//
// Loading does not invalidate any stream capture. Kernels are on the device when Module.Kernel
// returns them (see Kernel.Load), so their first launch may be captured.
func (s *ImageSet) Lazy(c *Context, opts ...JITOption) *Module {
	return &Module{lazy: &lazyModule{set: s, ctx: c, opts: opts}}
}

// lazyModule holds the state of a Module from Lazy.
type lazyModule struct {
	set  *ImageSet
	ctx  *Context
	opts []JITOption

	mu     sync.Mutex
	mod    *Module
	closed bool
}

// load returns the module and loads it if necessary.
func (l *lazyModule) load() (*Module, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, fmt.Errorf("module: %w", ErrClosed)
	case l.mod != nil:
		return l.mod, nil
	}
	m, err := loadBest(l.set, l.ctx, func(i *image.Image) (*Module, error) {
		return l.ctx.loadModule(l.ctx.Guarded(), loadableOf(i), l.opts)
	})
	l.mod = m
	return m, err
}

// loaded returns the module if it is loaded, else nil.
func (l *lazyModule) loaded() *Module {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mod
}

// kernel returns a kernel that is on the device.
func (l *lazyModule) kernel(name string) (*Kernel, error) {
	m, err := l.load()
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel(name)
	if err != nil {
		return nil, err
	}
	if err := k.Load(); err != nil {
		return nil, err
	}
	return k, nil
}

func (l *lazyModule) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.mod.Close()
}
