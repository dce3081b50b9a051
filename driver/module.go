package driver

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/ptx"
)

// Module is code loaded into a context: a cubin, a fat binary, or PTX, which the driver compiles.
// [Context.LoadModule] and [ImageSet.LoadModule] load immediately, [ImageSet.Lazy] on first use,
// and [Linker.Load] after linking.
type Module struct {
	code *program
	raw  cu.CUmodule
	lazy *lazyModule // set for a module from Lazy, instead of code and raw
}

// LoadModule loads PTX text, a cubin or a fat binary, and detects the format. If PTX does not
// compile, the [*Error] explains why in one line. %+v also prints the compiler's log and the PTX
// lines that it refers to.
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

// texts is a pool of buffers for NUL-terminated copies of PTX. The driver does not use a copy after
// the load.
var texts = sync.Pool{New: func() any { return new([]byte) }}

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
	slot, err := m.arm(c, img)
	if err != nil {
		return nil, p.abandon(err)
	}
	m.init(j, slot, c.text(img))
	return m, nil
}

// arm gives the kernels a slot for recording faults if the image may contain checks. If that fails,
// arm unloads the module.
func (m *Module) arm(c *Context, img loadable) (*kernelfault.Slot, error) {
	if !img.mayFault() {
		return nil, nil
	}
	d := c.Guarded()
	slot, err := c.core.home.Faults.Arm(func(at *CUdeviceptr, bytes *uintptr, name *byte) error {
		return d.CuModuleGetGlobal(at, bytes, m.raw, name)
	})
	if err != nil {
		return nil, errors.Join(err, d.CuModuleUnload(m.raw))
	}
	return slot, nil
}

func (m *Module) load(d *Driver, img loadable, j *jit) error {
	return d.CuModuleLoadDataEx(&m.raw, img.ptr(), j.count(), j.optionList(), j.valueList())
}

func (m *Module) init(j *jit, slot *kernelfault.Slot, text *kernelfault.Text) {
	raw, p := m.raw, m.code
	p.log = cString(j.info)
	p.find = func(d *Driver, name *byte) (f cu.CUfunction, err error) {
		err = d.CuModuleGetFunction(&f, raw, name)
		return f, err
	}
	p.global = func(d *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return d.CuModuleGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return moduleKernels(d, raw) }
	life.Own(p, p.life, uint64(raw), func(d *cu.Driver) error {
		slot.Drain()
		text.Drain()
		err := d.CuModuleUnload(raw)
		slot.Free(err)
		text.Free(err)
		return err
	})
}

// moduleKernels queries the kernel names, which the driver reports since CUDA 12.4. Names that
// cannot be queried are omitted.
func moduleKernels(d *Driver, m cu.CUmodule) []string {
	var n uint32
	if d.CuModuleGetFunctionCount(&n, m) != nil || n == 0 {
		return nil
	}
	functions := make([]cu.CUfunction, n)
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

// Kernel returns the named kernel, or an error that lists the kernels.
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

// Kernels returns the names of the known kernels. For PTX, these are all kernels. For binaries,
// this needs CUDA 12.4.
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

// Global returns a variable as bytes (see ViewAs). It keeps the module loaded.
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

// Log returns the compiler's output from a successful load: warnings and, with CU_JIT_LOG_VERBOSE,
// each kernel's register and memory usage.
func (m *Module) Log() string {
	if m = m.loaded(); m == nil || m.code == nil {
		return ""
	}
	return m.code.log
}

// Raw returns the driver's handle, or 0 if the module is not loaded yet.
func (m *Module) Raw() cu.CUmodule {
	if m = m.loaded(); m == nil {
		return 0
	}
	return m.raw
}

// Context returns the context that the module belongs to.
func (m *Module) Context() *Context {
	switch {
	case m != nil && m.lazy != nil:
		return m.lazy.ctx
	case m == nil || m.code == nil:
		return nil
	}
	return m.code.ctx
}

// Close unloads the module, which also closes its kernels and variables.
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

// loaded returns m. For a lazy m, it returns the module that m has loaded, or nil.
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

// embedded holds the modules that Embedded loaded.
type embedded struct {
	loading sync.Mutex   // is held during a load, so that no module is loaded twice
	mu      sync.RWMutex // guards mods, and is not held during a load
	mods    map[embeddedText]*Module
}

// find returns the module of a text, or nil.
func (e *embedded) find(text embeddedText) *Module {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.mods[text]
}

// embeddedText identifies embedded PTX by its name and address, because two packages may use the same
// name.
type embeddedText struct {
	name string
	at   *byte
	size int
}

// Embedded is for packages built on this one. It returns the module for PTX that is embedded in
// such a package. ptx must be the same memory in every call, such as an embedded variable. The
// first call with a name and text loads the module, even during a capture. Do not close the module:
// the context unloads it. The module does not keep the context alive. If the PTX calls functions
// that other PTX defines, pass the other PTX in more, and Embedded links it. Line numbers are kept
// for NVIDIA's tools.
func (c *Context) Embedded(name string, ptx []byte, more ...[]byte) (*Module, error) {
	return c.embeddedOnce(name, ptx, func() (*Module, error) { return c.loadEmbedded(name, ptx, more) })
}

func (c *Context) loadEmbedded(name string, ptx []byte, more [][]byte) (*Module, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	var lines []JITOption
	if hasLines(ptx) || slices.ContainsFunc(more, hasLines) {
		lines = append(lines, WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1))
	}
	img, sigs, err := c.linkEmbedded(name, ptx, more, lines)
	if err != nil {
		return nil, err
	}
	if err := c.core.life.Retain(); err != nil {
		return nil, err
	}
	defer c.core.life.Done()
	m := &Module{}
	j, err := withJIT(img, lines, func(j *jit) error { return m.load(c.Guarded(), img, j) })
	if err != nil {
		return nil, c.explainNeeds(err, imageNeeds(img))
	}
	j.close()
	if _, err := m.arm(c, img); err != nil { // the slot is freed with the context
		return nil, err
	}
	m.code = c.core.embed(c, name, m.raw, img)
	if sigs != nil {
		m.code.sigs = sigs
	}
	return m, nil
}

// hasLines reports whether PTX has line numbers. The driver keeps them only on request.
func hasLines(ptx []byte) bool {
	return bytes.Contains(ptx, []byte(".loc ")) || bytes.Contains(ptx, []byte(".loc\t"))
}

// linkEmbedded returns the code to load, and its signatures. If the code had to be linked, the
// signatures come from the PTX.
func (c *Context) linkEmbedded(name string, text []byte, more [][]byte, opts []JITOption) (loadable, map[string]*ptx.Signature, error) {
	if len(more) == 0 {
		img, err := newLoadable(text)
		return img, nil, err
	}
	l, err := c.NewLinker(opts...)
	if err != nil {
		return loadable{}, nil, err
	}
	for i, data := range append([][]byte{text}, more...) {
		if err := l.Add(fmt.Sprintf("part %d of %s", i+1, name), data); err != nil {
			return loadable{}, nil, err
		}
	}
	linked, err := l.Complete()
	if err != nil {
		return loadable{}, nil, err
	}
	img, err := newLoadable(linked)
	return img, l.signatures(), err
}

// embed creates the program of an embedded module. Its lifetime has no parent and is not tracked,
// because the context unloads the module.
func (core *contextCore) embed(c *Context, name string, raw cu.CUmodule, img loadable) *program {
	l := life.Loose(&core.home, name, uint64(raw), nil)
	core.mu.Lock()
	core.code = append(core.code, embeddedCode{l, c.text(img)})
	core.mu.Unlock()
	p := &program{life: l, ctx: c, sigs: readSignatures(img)}
	p.find = func(_ *Driver, name *byte) (f cu.CUfunction, err error) {
		err = core.guarded.CuModuleGetFunction(&f, raw, name)
		return f, err
	}
	p.global = func(_ *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return core.guarded.CuModuleGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return moduleKernels(d, raw) }
	return p
}

func (core *contextCore) unload(d *cu.Driver) error {
	core.mu.Lock()
	code := core.code
	core.code = nil
	core.mu.Unlock()
	var errs []error
	for _, m := range code {
		m.life.Shut()
		err := d.CuModuleUnload(cu.CUmodule(m.life.Handle()))
		m.text.Free(err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Library is code loaded by cuLibraryLoadData (CUDA 12.0). The driver loads it into each context
// that uses it. Kernels from this Library run in the context that loaded it. For code used in only
// one context, use a [Module].
type Library struct {
	code *program
	raw  cu.CUlibrary
}

// LoadLibrary is like LoadModule, but loads a [Library]. The driver may compile PTX later. The
// first call of Kernel or Global then returns its errors.
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

// init sets up a loaded library. It keeps the log buffers until the library is unloaded, because
// the driver may write to them when it compiles for a context.
func (l *Library) init(j *jit, img loadable, opts []JITOption) {
	raw, p := l.raw, l.code
	p.log = cString(j.info)
	faults := &libraryFaults{state: p.ctx.core.home.Faults, armed: !img.mayFault()}
	guarded, text := p.ctx.Guarded(), p.ctx.text(img)
	p.find = func(d *Driver, name *byte) (cu.CUfunction, error) {
		f, err := libraryFunction(d, raw, name)
		if err != nil {
			return f, j.explainLate(err, p.ctx, img, opts)
		}
		return f, faults.arm(guarded, raw)
	}
	p.global = func(d *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error {
		return d.CuLibraryGetGlobal(ptr, size, raw, name)
	}
	p.list = func(d *Driver) []string { return libraryKernels(d, raw) }
	life.Own(p, p.life, uint64(raw), func(d *cu.Driver) error {
		defer j.close()
		faults.slot.Drain()
		text.Drain()
		err := d.CuLibraryUnload(raw)
		faults.slot.Free(err)
		text.Free(err)
		return err
	})
}

// libraryFaults gives a library's kernels a slot for recording faults when the first kernel is
// used. The driver may not compile a library before that.
type libraryFaults struct {
	state *kernelfault.State
	armed bool // set up, or not needed because the library has no checks
	slot  *kernelfault.Slot
}

// arm sets up the slot. The caller must hold program.mu.
func (l *libraryFaults) arm(d *Driver, raw cu.CUlibrary) (err error) {
	if l.armed {
		return nil
	}
	l.slot, err = l.state.Arm(func(at *CUdeviceptr, bytes *uintptr, name *byte) error {
		return d.CuLibraryGetGlobal(at, bytes, raw, name)
	})
	l.armed = err == nil
	return err
}

// libraryFunction returns the kernel's handle in the current context. Only such a handle is valid
// in every call that accepts a CUfunction.
func libraryFunction(d *Driver, l cu.CUlibrary, name *byte) (f cu.CUfunction, err error) {
	var k cu.CUkernel
	if err := d.CuLibraryGetKernel(&k, l, name); err != nil {
		return 0, err
	}
	err = d.CuKernelGetFunction(&f, k)
	return f, err
}

// libraryKernels queries the kernel names, which the driver reports since CUDA 12.4.
func libraryKernels(d *Driver, l cu.CUlibrary) []string {
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

// Kernel returns the kernel with the given name: see Module.Kernel.
func (l *Library) Kernel(name string) (*Kernel, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	k, err := l.code.kernel(name)
	runtime.KeepAlive(l)
	return k, err
}

// Kernels returns the known kernel names: see Module.Kernels.
func (l *Library) Kernels() ([]string, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	names := l.code.names()
	runtime.KeepAlive(l)
	return names, nil
}

// Global returns a variable as a view of bytes. Each context has its own copy of the variable.
// Global returns the copy of the Library's context.
func (l *Library) Global(name string) (View[byte], error) {
	if err := l.check(); err != nil {
		return View[byte]{}, err
	}
	v, err := l.code.variable(name)
	runtime.KeepAlive(l)
	return v, err
}

// Managed returns a __managed__ variable of the library as a view of bytes.
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

// Log returns the compiler's output from a successful load.
func (l *Library) Log() string {
	if l == nil || l.code == nil {
		return ""
	}
	return l.code.log
}

// Raw returns the driver's handle.
func (l *Library) Raw() cu.CUlibrary {
	if l == nil {
		return 0
	}
	return l.raw
}

// Context returns the context that the library was loaded in.
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
