package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Library is code loaded by cuLibraryLoadData (since CUDA 12.0). The driver loads it into each
// context that uses it. Kernels of a Library run in the context it was loaded from. For code used
// in one context, use a Module instead.
type Library struct {
	code *program
	raw  CUlibrary
}

// LoadLibrary loads PTX text, a cubin or a fat binary, as LoadModule does. Drivers defer compiling:
// the error for PTX that does not compile may only be returned by the first Kernel or Global.
func (c *Context) LoadLibrary(data []byte, opts ...JITOption) (*Library, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	img, err := newLoadable(data)
	if err != nil {
		return nil, fmt.Errorf("cannot load a library: %w", err)
	}
	return c.loadLibrary(img, opts)
}

func (c *Context) loadLibrary(img loadable, opts []JITOption) (*Library, error) {
	p, err := newProgram(c, "library", img)
	if err != nil {
		return nil, err
	}
	l := &Library{code: p}
	j, err := withJIT(img, opts, func(j *jit) error { return l.load(c.Driver(), img, j) })
	if err != nil {
		return nil, p.abandon(err)
	}
	p.text.Wait()
	l.init(j, img, opts)
	return l, nil
}

func (l *Library) load(d *Driver, img loadable, j *jit) error {
	return d.CuLibraryLoadData(&l.raw, img.ptr(), j.optionList(), j.valueList(), j.count(), nil, nil, 0)
}

// init keeps the log buffers until the library is unloaded, because the driver may write them when
// it compiles for a context.
func (l *Library) init(j *jit, img loadable, opts []JITOption) {
	raw, p := l.raw, l.code
	p.log = cString(j.info)
	p.find = func(d *Driver, name *byte) (CUfunction, error) {
		f, err := libraryFunction(d, raw, name)
		return f, j.explainLate(err, p.ctx, img, opts)
	}
	p.global = func(d *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return d.CuLibraryGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return libraryKernels(d, raw) }
	life.Own(p, p.life, uint64(raw), func(d *cu.Driver) error {
		defer j.close()
		return d.CuLibraryUnload(raw)
	})
}

// libraryFunction returns the kernel's handle in the current context. Only such a handle is valid
// for every call that takes a CUfunction.
func libraryFunction(d *Driver, l CUlibrary, name *byte) (f CUfunction, err error) {
	var k cu.CUkernel
	if err := d.CuLibraryGetKernel(&k, l, name); err != nil {
		return 0, err
	}
	err = d.CuKernelGetFunction(&f, k)
	return f, err
}

// libraryKernels queries the names, which the driver returns since CUDA 12.4.
func libraryKernels(d *Driver, l CUlibrary) []string {
	var n uint32
	if d.CuLibraryGetKernelCount(&n, l) != nil || n == 0 {
		return nil
	}
	kernels := make([]cu.CUkernel, n)
	if d.CuLibraryEnumerateKernels(&kernels[0], n, l) != nil {
		return nil
	}
	names := make([]string, 0, n)
	for _, k := range kernels {
		var name *byte
		if d.CuKernelGetName(&name, k) == nil {
			names = append(names, textAt(name))
		}
	}
	return names
}

// Kernel returns the kernel with that name, as Module.Kernel does.
func (l *Library) Kernel(name string) (*Kernel, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	k, err := l.code.kernel(name)
	runtime.KeepAlive(l)
	return k, err
}

// Kernels returns the names of the kernels, as far as they are known.
func (l *Library) Kernels() ([]string, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	names := l.code.names()
	runtime.KeepAlive(l)
	return names, nil
}

// Global returns a variable of the library in its context, as bytes.
func (l *Library) Global(name string) (View[byte], error) {
	if err := l.check(); err != nil {
		return View[byte]{}, err
	}
	v, err := l.code.variable(name)
	runtime.KeepAlive(l)
	return v, err
}

// Managed returns a __managed__ variable of the library as bytes.
func (l *Library) Managed(name string) (View[byte], error) {
	if err := l.check(); err != nil {
		return View[byte]{}, err
	}
	symbol, err := cName("variable", name)
	if err != nil {
		return View[byte]{}, err
	}
	a := &allocation{life: l.code.life, ctx: l.code.ctx, owner: l.code}
	if err := l.code.ctx.Driver().CuLibraryGetManaged(&a.ptr, &a.bytes, l.raw, symbol); err != nil {
		return View[byte]{}, fmt.Errorf("managed variable %q of %v: %w", name, l, err)
	}
	runtime.KeepAlive(l)
	return View[byte]{span{a, a.ptr, a.bytes}}, nil
}

// Log returns what the compiler printed without failing.
func (l *Library) Log() string {
	if l == nil || l.code == nil {
		return ""
	}
	return l.code.log
}

// Raw returns the driver's handle, 0 for a nil library.
func (l *Library) Raw() CUlibrary {
	if l == nil {
		return 0
	}
	return l.raw
}

// Context returns the context the library was loaded from.
func (l *Library) Context() *Context {
	if l == nil || l.code == nil {
		return nil
	}
	return l.code.ctx
}

// Close unloads the library, which also closes its kernels and variables.
func (l *Library) Close() error {
	if l == nil || l.code == nil {
		return nil
	}
	err := l.code.life.Close()
	runtime.KeepAlive(l)
	return err
}

// String describes the library.
func (l *Library) String() string {
	if l == nil || l.code == nil {
		return "nil library"
	}
	return l.code.life.String()
}

func (l *Library) check() error {
	if l == nil || l.code == nil {
		return absentError(l == nil, "library")
	}
	return l.code.check("library")
}
