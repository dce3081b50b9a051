package driver

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Module is code loaded into a context: PTX, which the driver compiles, a cubin or a fat binary.
// Context.LoadModule and ImageSet.LoadModule load it at once, ImageSet.Lazy on first use, and
// Linker.Load after linking.
type Module struct {
	code *program
	raw  CUmodule
	lazy *lazyModule // instead of both
}

// LoadModule loads PTX text, a cubin or a fat binary, and detects which it is. If PTX does not
// compile, the error is an [*Error] that prints one line, or with %+v the compiler's log and the
// lines of PTX it refers to.
func (c *Context) LoadModule(data []byte, opts ...JITOption) (*Module, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	img, err := newLoadableIn(text, data)
	if err != nil {
		return nil, fmt.Errorf("cannot load a module: %w", err)
	}
	return c.loadModule(c.Driver(), img, opts)
}

// texts are NUL-terminated copies of PTX for the driver to load. After the load, nothing refers to
// them.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// loadModule loads an image by calls of d.
func (c *Context) loadModule(d *Driver, img loadable, opts []JITOption) (*Module, error) {
	p, err := newProgram(c, "module", img)
	if err != nil {
		return nil, err
	}
	m := &Module{code: p}
	j, err := withJIT(img, opts, func(j *jit) error { return m.load(d, img, j) })
	if err != nil {
		return nil, p.abandon(err)
	}
	defer j.close()
	p.text.Wait()
	m.init(j)
	return m, nil
}

func (m *Module) load(d *Driver, img loadable, j *jit) error {
	return d.CuModuleLoadDataEx(&m.raw, img.ptr(), j.count(), j.optionList(), j.valueList())
}

func (m *Module) init(j *jit) {
	raw, p := m.raw, m.code
	p.log = cString(j.info)
	p.find = func(d *Driver, name *byte) (f CUfunction, err error) {
		err = d.CuModuleGetFunction(&f, raw, name)
		return f, err
	}
	p.global = func(d *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return d.CuModuleGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return moduleKernels(d, raw) }
	life.Own(p, p.life, uint64(raw), func(d *cu.Driver) error { return d.CuModuleUnload(raw) })
}

// moduleKernels queries the names, which the driver returns since CUDA 12.4. They are only for
// messages, so failures are ignored.
func moduleKernels(d *Driver, m CUmodule) []string {
	var n uint32
	if d.CuModuleGetFunctionCount(&n, m) != nil || n == 0 {
		return nil
	}
	functions := make([]CUfunction, n)
	if d.CuModuleEnumerateFunctions(&functions[0], n, m) != nil {
		return nil
	}
	names := make([]string, 0, n)
	for _, f := range functions {
		var name *byte
		if d.CuFuncGetName(&name, f) == nil {
			names = append(names, textAt(name))
		}
	}
	return names
}

// Kernel returns the kernel with that name, the same one for each call. If there is none, the error
// lists those that exist.
func (m *Module) Kernel(name string) (*Kernel, error) {
	if m != nil && m.lazy != nil {
		return m.lazy.kernel(name)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	k, err := m.code.kernel(name)
	runtime.KeepAlive(m)
	return k, err
}

// Kernels returns the names of the kernels, as far as they are known: always for PTX, for binaries
// since CUDA 12.4.
func (m *Module) Kernels() ([]string, error) {
	if m != nil && m.lazy != nil {
		loaded, err := m.lazy.load()
		if err != nil {
			return nil, err
		}
		return loaded.Kernels()
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	names := m.code.names()
	runtime.KeepAlive(m)
	return names, nil
}

// Global returns a variable of the module as bytes. To get other elements, use ViewAs. The view
// keeps the module loaded.
func (m *Module) Global(name string) (View[byte], error) {
	if m != nil && m.lazy != nil {
		loaded, err := m.lazy.load()
		if err != nil {
			return View[byte]{}, err
		}
		return loaded.Global(name)
	}
	if err := m.check(); err != nil {
		return View[byte]{}, err
	}
	v, err := m.code.variable(name)
	runtime.KeepAlive(m)
	return v, err
}

// Log returns what the compiler printed without failing: warnings, and with
// CU_JIT_LOG_VERBOSE the registers and memory of each kernel.
func (m *Module) Log() string {
	if m = m.loaded(); m == nil || m.code == nil {
		return ""
	}
	return m.code.log
}

// Raw returns the driver's handle, 0 for a module that is nil or not loaded yet.
func (m *Module) Raw() CUmodule {
	if m = m.loaded(); m == nil {
		return 0
	}
	return m.raw
}

// Context returns the context the module is loaded in.
func (m *Module) Context() *Context {
	switch {
	case m != nil && m.lazy != nil:
		return m.lazy.ctx
	case m == nil || m.code == nil:
		return nil
	}
	return m.code.ctx
}

// Close unloads the module, which also closes its kernels and variables. A graph that refers to a
// kernel delays the unloading.
func (m *Module) Close() error {
	switch {
	case m != nil && m.lazy != nil:
		return m.lazy.close()
	case m == nil || m.code == nil:
		return nil
	}
	err := m.code.life.Close()
	runtime.KeepAlive(m)
	return err
}

// String describes the module.
func (m *Module) String() string {
	if m != nil && m.lazy != nil {
		if m = m.loaded(); m == nil {
			return "module that is not loaded yet"
		}
	}
	if m == nil || m.code == nil {
		return "nil module"
	}
	return m.code.life.String()
}

// loaded returns the module itself, or what a lazy one has loaded, nil if it has loaded nothing.
func (m *Module) loaded() *Module {
	if m != nil && m.lazy != nil {
		return m.lazy.loaded()
	}
	return m
}

func (m *Module) check() error {
	if m == nil || m.code == nil {
		return absentError(m == nil, "module")
	}
	return m.code.check("module")
}
