package driver

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/life"
)

// embedded holds the modules that belong to the library instead of the program.
type embedded struct {
	mu   sync.Mutex
	mods map[embeddedText]*Module
}

// embeddedText distinguishes texts of the same name, which two packages may have.
type embeddedText struct {
	name string
	at   *byte
	size int
}

// Embedded returns the module of a package's own PTX. The first call with this name and text loads
// it, even during a capture. The context unloads it, nobody closes it, and it does not keep the
// context alive. Texts are the same if they are the same memory, as that of an embedded variable
// is. It is for packages built on this one.
func (c *Context) Embedded(name string, ptx []byte) (*Module, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot load the %s: %w", name, err)
	}
	c.embedded.mu.Lock()
	defer c.embedded.mu.Unlock()
	text := embeddedText{name, unsafe.SliceData(ptx), len(ptx)}
	if m := c.embedded.mods[text]; m != nil {
		return m, nil
	}
	m, err := c.loadEmbedded(name, ptx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the %s: %w", name, err)
	}
	if c.embedded.mods == nil {
		c.embedded.mods = make(map[embeddedText]*Module)
	}
	c.embedded.mods[text] = m
	return m, nil
}

func (c *Context) loadEmbedded(name string, ptx []byte) (*Module, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	img, err := newLoadable(ptx)
	if err != nil {
		return nil, err
	}
	if err := c.core.life.Retain(); err != nil {
		return nil, err
	}
	defer c.core.life.Done()
	m := &Module{}
	j, err := withJIT(img, nil, func(j *jit) error { return m.load(c.Guarded(), img, j) })
	if err != nil {
		return nil, c.explainNeeds(err, imageNeeds(img))
	}
	j.close()
	m.code = c.core.embed(c, name, m.raw, img)
	return m, nil
}

// embed creates the program of an embedded module. Its lifetime has no parent and is not tracked:
// the context ends it.
func (core *contextCore) embed(c *Context, name string, raw CUmodule, img loadable) *program {
	l := life.Loose(&core.home, name, uint64(raw), nil)
	core.mu.Lock()
	core.code = append(core.code, l)
	core.mu.Unlock()
	p := &program{life: l, ctx: c, sigs: readSignatures(img)}
	p.find = func(_ *Driver, name *byte) (f CUfunction, err error) {
		err = core.guarded.CuModuleGetFunction(&f, raw, name)
		return f, err
	}
	p.global = func(_ *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return core.guarded.CuModuleGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return moduleKernels(d, raw) }
	return p
}

// unload ends the embedded modules of a context that is about to be released.
func (core *contextCore) unload(d *cu.Driver) error {
	core.mu.Lock()
	code := core.code
	core.code = nil
	core.mu.Unlock()
	var errs []error
	for _, l := range code {
		l.Shut()
		errs = append(errs, d.CuModuleUnload(CUmodule(l.Handle())))
	}
	return errors.Join(errs...)
}
