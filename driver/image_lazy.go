package driver

import (
	"fmt"
	"sync"
)

// LazyModule is a set of images of which the best is loaded into a context when
// something of it is first asked for. Its methods may be called by any number
// of goroutines; the first loads and the others wait for it. Loading disturbs
// no capture, whoever has one open. Close unloads what was loaded.
type LazyModule struct {
	set  *ImageSet
	ctx  *Context
	opts []JITOption

	mu     sync.Mutex
	mod    *Module
	closed bool
}

// Lazy returns a module that is loaded when it is first used. Nothing is called
// and nothing checked before that.
func (s *ImageSet) Lazy(c *Context, opts ...JITOption) *LazyModule {
	return &LazyModule{set: s, ctx: c, opts: opts}
}

// Module loads the module if that has not been done, and returns it. It belongs
// to the LazyModule, whose Close closes it. After an error the next call tries
// again.
func (l *LazyModule) Module() (*Module, error) {
	if l == nil {
		return nil, nilError("lazy module")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, fmt.Errorf("lazy module: %w", ErrClosed)
	case l.mod != nil:
		return l.mod, nil
	}
	m, err := loadBest(l.set, l.ctx, func(i *Image) (*Module, error) {
		return l.ctx.loadModule(l.ctx.Guarded(), i.code, l.opts)
	})
	l.mod = m
	return m, err
}

// Kernel returns the kernel with that name, loaded and on the device (see
// Kernel.Load), so that its first launch may be captured.
func (l *LazyModule) Kernel(name string) (*Kernel, error) {
	m, err := l.Module()
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

// Global returns a variable as Module.Global does.
func (l *LazyModule) Global(name string) (View[byte], error) {
	m, err := l.Module()
	if err != nil {
		return View[byte]{}, err
	}
	return m.Global(name)
}

// Loaded reports whether the module is loaded.
func (l *LazyModule) Loaded() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mod != nil && !l.closed
}

// Close unloads the module if it was loaded, and refuses to load it from then
// on. Closing again does nothing.
func (l *LazyModule) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.mod.Close()
}
