package driver

import (
	"fmt"
	"runtime"
)

// Module is code loaded into a context: from PTX, which the driver compiles,
// or from a cubin or fat binary.
type Module struct {
	code *program
	raw  CUmodule
}

// LoadModule loads PTX text, a cubin or a fat binary; it tells them apart
// itself. If PTX does not compile, the error is an [*Error] that says so in
// one line and with %+v shows the compiler's log and the lines it points at.
func (c *Context) LoadModule(data []byte, opts ...JITOption) (*Module, error) {
	img, err := newImage(data)
	if err != nil {
		return nil, fmt.Errorf("cannot load a module: %w", err)
	}
	return c.loadModule(c.Driver(), img, opts)
}

// loadModule loads an image by calls of d.
func (c *Context) loadModule(d *Driver, img image, opts []JITOption) (*Module, error) {
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
	m.init(j)
	return m, nil
}

func (m *Module) load(d *Driver, img image, j *jit) error {
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
	Own(p, p.life, uint64(raw), func(d *Driver) error { return d.CuModuleUnload(raw) })
}

// moduleKernels asks the driver for the names, which it can tell since CUDA
// 12.4. It is for messages, so that it cannot is no error.
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

// Kernel returns the kernel with that name. Asking again returns the same one.
// The error for a name that is not there lists those that are.
func (m *Module) Kernel(name string) (*Kernel, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	k, err := m.code.kernel(name)
	runtime.KeepAlive(m)
	return k, err
}

// Kernels lists the names of the kernels, as far as they are known: always for
// PTX, for binaries since CUDA 12.4.
func (m *Module) Kernels() ([]string, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	names := m.code.names()
	runtime.KeepAlive(m)
	return names, nil
}

// Global returns a variable of the module as bytes; ViewAs makes other
// elements of them. The view keeps the module loaded.
func (m *Module) Global(name string) (View[byte], error) {
	if err := m.check(); err != nil {
		return View[byte]{}, err
	}
	v, err := m.code.variable(name)
	runtime.KeepAlive(m)
	return v, err
}

// Log is what the compiler printed without failing: warnings, and with
// JITVerbose the registers and memory of each kernel.
func (m *Module) Log() string {
	if m == nil || m.code == nil {
		return ""
	}
	return m.code.log
}

// Raw returns the driver's handle, 0 for a nil module.
func (m *Module) Raw() CUmodule {
	if m == nil {
		return 0
	}
	return m.raw
}

// Context returns the context the module is loaded in.
func (m *Module) Context() *Context {
	if m == nil || m.code == nil {
		return nil
	}
	return m.code.ctx
}

// Close unloads the module: its kernels and variables are closed with it. A
// graph that holds a kernel delays that until it lets go.
func (m *Module) Close() error {
	if m == nil || m.code == nil {
		return nil
	}
	err := m.code.life.Close()
	runtime.KeepAlive(m)
	return err
}

// String names the module.
func (m *Module) String() string {
	if m == nil || m.code == nil {
		return "nil module"
	}
	return m.code.life.String()
}

func (m *Module) check() error {
	if m == nil {
		return nilError("module")
	}
	return m.code.check("module")
}
