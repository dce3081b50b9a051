package emulator

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/jit"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// module is PTX compiled for one context. Its variables have been placed in the device's memory.
type module struct {
	handle   uintptr
	ctx      *cudaContext
	code     *vm.Module
	library  *library // nil if loaded as a module, not as part of a library
	funcs    map[string]*kernelFunc
	order    []*kernelFunc
	unloaded atomic.Bool // set by unload; the program must not have a kernel of the module in flight then
}

func (m *module) owner() *cudaContext { return m.ctx }

func (m *module) destroy() { m.unload() }

// unload invalidates the module's functions and frees its variables. All work that uses them must
// have ended.
func (m *module) unload() {
	if m.unloaded.Swap(true) {
		return
	}
	for _, f := range m.order {
		m.ctx.e.forget(f.handle)
	}
	m.ctx.discard(m.code)
	m.ctx.dev.Refund(m.code.Bytes())
}

func (ctx *cudaContext) discard(code *vm.Module) {
	if err := code.Close(); err != nil {
		ctx.e.log(slog.LevelError, "unload", "error", err)
	}
}

// newModule registers compiled code and its functions. It fails if there is no longer enough memory
// for the variables, because other calls have allocated memory since the compilation.
func (ctx *cudaContext) newModule(code *vm.Module, lib *library) (*module, result) {
	if !ctx.dev.Charge(code.Bytes()) {
		ctx.discard(code)
		return nil, errOutOfMemory
	}
	m := &module{ctx: ctx, code: code, library: lib, funcs: make(map[string]*kernelFunc)}
	m.handle = ctx.e.register(m)
	for _, name := range code.Kernels() {
		k, _ := code.Kernel(name)
		f := newKernelFunc(m, k)
		m.funcs[name] = f
		m.order = append(m.order, f)
	}
	return m, success
}

var moduleFunctions = functions{
	"cuModuleLoad":               {cuModuleLoad, current},
	"cuModuleLoadData":           {cuModuleLoadData, current},
	"cuModuleLoadDataEx":         {cuModuleLoadDataEx, current},
	"cuModuleLoadFatBinary":      {cuModuleLoadData, current},
	"cuModuleUnload":             {cuModuleUnload, currentUnsafe},
	"cuModuleGetFunction":        {cuModuleGetFunction, current},
	"cuModuleGetFunctionCount":   {query(objectAt[module], 1, 0, func(m *module) uint32 { return uint32(len(m.order)) }), current},
	"cuModuleEnumerateFunctions": {cuModuleEnumerateFunctions, current},
	"cuModuleGetGlobal_v2":       {getGlobal(objectAt[module]), current},
}

func cuModuleLoad(c call) result {
	name, ok := c.text(1)
	if !ok || c.Ptr(0) == nil {
		return errInvalidValue
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return cu.CUDA_ERROR_FILE_NOT_FOUND
	}
	data = append(data, 0)
	return loadModule(c, jit.Sized(data), &jit.Options{})
}

func cuModuleLoadData(c call) result {
	if c.Ptr(0) == nil || c.Ptr(1) == nil {
		return errInvalidValue
	}
	return loadModule(c, jit.Unsized(c.Ptr(1)), &jit.Options{})
}

func cuModuleLoadDataEx(c call) result {
	if c.Ptr(0) == nil || c.Ptr(1) == nil {
		return errInvalidValue
	}
	n := int(c.Uint32(2))
	opts, r := jit.ReadOptions(list[cu.CUjit_option](c, 3, n), list[unsafe.Pointer](c, 4, n), n)
	if r != success {
		return r
	}
	return loadModule(c, jit.Unsized(c.Ptr(1)), &opts)
}

func loadModule(c call, image jit.Image, opts *jit.Options) result {
	sources, r := c.e.readImage(image, opts)
	if r != success {
		return r
	}
	code, r := c.ctx.compile(sources, opts)
	if r != success {
		return r
	}
	m, r := c.ctx.newModule(code, nil)
	if r != success {
		return r
	}
	return put(c, 0, m.handle)
}

// cuModuleUnload waits for the context, because kernels of the module may still be running.
func cuModuleUnload(c call) result {
	m := handleAt[module](c, 0)
	if m == nil || m.library != nil {
		return errInvalidHandle
	}
	m.ctx.wait()
	m.unload()
	c.e.forget(m.handle)
	return c.ctx.dev.fault
}

func cuModuleGetFunction(c call) result {
	m := handleAt[module](c, 1)
	name, ok := c.text(2)
	switch {
	case c.Ptr(0) == nil || !ok:
		return errInvalidValue
	case m == nil:
		return errInvalidHandle
	}
	f := m.funcs[name]
	if f == nil {
		return errNotFound
	}
	return put(c, 0, f.handle)
}

func cuModuleEnumerateFunctions(c call) result {
	m := handleAt[module](c, 2)
	out := list[uintptr](c, 0, int(c.Uint32(1)))
	switch {
	case m == nil:
		return errInvalidHandle
	case c.Ptr(0) != nil && c.Uint32(1) == 0:
		return success
	case out == nil:
		return errInvalidValue
	}
	for i := range min(len(out), len(m.order)) {
		out[i] = m.order[i].handle
	}
	return success
}

// getGlobal returns a driver function that takes (address *, size *, container, name). The function
// stores the address and the size of the named variable.
func getGlobal(container func(c call, i int) (*module, result)) func(call) result {
	return func(c call) result {
		m, r := container(c, 2)
		if r != success {
			return r
		}
		name, ok := c.text(3)
		if !ok || (c.Ptr(0) == nil && c.Ptr(1) == nil) {
			return errInvalidValue
		}
		v, ok := m.code.Variable(name)
		if !ok && m.funcs[name] != nil {
			return errInvalidValue
		}
		if !ok {
			return errNotFound
		}
		return c.putWords(uintptr(v.Addr), uintptr(v.Size))
	}
}

func (e *Emulator) readImage(image jit.Image, o *jit.Options) ([]jit.Source, result) {
	sources, err := image.Sources(e.target(e.devices[0]).Engine.ComputeCapability)
	switch {
	case err == nil:
		return sources, success
	case errors.Is(err, jit.ErrNotCode):
		return nil, errInvalidImage
	}
	msg := err.Error() + ": the emulator executes PTX text only; compile with nvcc -ptx or keep the PTX"
	o.Fail(msg)
	e.log(slog.LevelError, "module refused", "reason", msg)
	return nil, cu.CUDA_ERROR_NO_BINARY_FOR_GPU
}

// compile compiles sources for the context. It releases the lock while it compiles.
func (ctx *cudaContext) compile(sources []jit.Source, o *jit.Options) (code *vm.Module, r result) {
	e := ctx.e
	var err error
	target := e.target(ctx.dev)
	e.unlocked(func() { code, r, err = target.Compile(sources) })
	if err == nil {
		return code, success
	}
	log := jit.Text(err)
	o.Fail(log)
	e.log(slog.LevelError, "module refused", "result", uint32(r), "log", log)
	return nil, r
}

func (e *Emulator) target(d *device) jit.Target {
	return jit.Target{
		DriverVersion: e.cfg.DriverVersion,
		Capability:    e.cfg.ComputeCapability,
		Engine: vm.CompileOptions{
			Memory:            e.mem,
			Device:            d.ordinal,
			ComputeCapability: e.cfg.ComputeCapability[0]*10 + e.cfg.ComputeCapability[1],
			Externs:           map[string]vm.Extern{"cudaGraphSetConditional": setConditional},
			Tag:               "a module's variable",
			MemoryLimit:       max(d.Left(), 1),
			VariableLimit:     e.cfg.Limits.Variables,
		},
	}
}

type linkState struct {
	*jit.Linker
	handle uintptr
	ctx    *cudaContext
	count  int // number of calls that have added an input
}

func (l *linkState) owner() *cudaContext { return l.ctx }

func (l *linkState) destroy() {}

var linkFunctions = functions{
	"cuLinkCreate_v2":  {cuLinkCreate, current},
	"cuLinkAddData_v2": {cuLinkAddData, current},
	"cuLinkAddFile_v2": {cuLinkAddFile, current},
	"cuLinkComplete":   {cuLinkComplete, current},
	"cuLinkDestroy":    {cuLinkDestroy, current},
}

func cuLinkCreate(c call) result {
	n := int(c.Uint32(0))
	options := list[cu.CUjit_option](c, 1, n)
	opts, r := jit.ReadOptions(options, list[unsafe.Pointer](c, 2, n), n)
	switch {
	case r != success:
		return r
	case c.Ptr(3) == nil:
		return errInvalidValue
	}
	for _, o := range options {
		if o == cu.CU_JIT_FALLBACK_STRATEGY {
			return errInvalidValue
		}
	}
	l := &linkState{Linker: jit.NewLinker(opts), ctx: c.ctx}
	l.handle = c.e.register(l)
	return put(c, 3, l.handle)
}

func cuLinkAddData(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	data, size := c.Ptr(2), int(c.Uint64(3))
	if r := addOptions(c, 5); r != success {
		return r
	}
	if data == nil || size == 0 {
		return errInvalidValue
	}
	l.count++
	name, ok := c.text(4)
	if !ok {
		name = fmt.Sprintf("Input %d", l.count)
	}
	return l.Add(l.target(), cu.CUjitInputType(c.Uint32(1)), name, strings.Clone(unsafe.String((*byte)(data), size)))
}

func cuLinkAddFile(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	name, ok := c.text(2)
	if r := addOptions(c, 3); r != success || !ok {
		return errInvalidValue
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return cu.CUDA_ERROR_FILE_NOT_FOUND
	}
	return l.Add(l.target(), cu.CUjitInputType(c.Uint32(1)), name, string(data))
}

// addOptions reads the options of one input: their number is argument i, and the arrays are
// arguments i+1 and i+2. It rejects log buffers, because only the linker as a whole can have them.
func addOptions(c call, i int) result {
	n := int(c.Uint32(i))
	opts, r := jit.ReadOptions(list[cu.CUjit_option](c, i+1, n), list[unsafe.Pointer](c, i+2, n), n)
	if opts.HasLogs() {
		return errInvalidValue
	}
	return r
}

func (l *linkState) target() jit.LinkTarget {
	e := l.ctx.e
	return jit.LinkTarget{
		Target: e.target(l.ctx.dev),
		Slowly: e.unlocked,
		Refused: func(input, reason string) {
			e.log(slog.LevelError, "input refused", "input", input, "reason", reason)
		},
	}
}

func cuLinkComplete(c call) result {
	l := handleAt[linkState](c, 0)
	switch {
	case l == nil:
		return errInvalidHandle
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	image, r := l.Complete(l.target())
	if r != success {
		return r
	}
	if size := at[uintptr](c, 2); size != nil {
		*size = uintptr(len(image))
	}
	return put(c, 1, unsafe.Pointer(&image[0]))
}

func cuLinkDestroy(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	c.e.forget(l.handle)
	return success
}
