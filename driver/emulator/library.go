package emulator

import (
	"os"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/jit"
)

// library is PTX that does not belong to a context. Each context that uses the library compiles it
// to a module.
type library struct {
	handle  uintptr
	sources []jit.Source
	modules map[*cudaContext]*module
	kernels []*kernel
	byName  map[string]*kernel
}

type kernel struct {
	handle uintptr
	lib    *library
	name   string
}

func (k *kernel) in(c call) (*kernelFunc, result) {
	m, r := k.lib.in(c.ctx)
	if r != success {
		return nil, r
	}
	return m.funcs[k.name].ready(), success
}

// kernelIn returns the function, in the current context, of the kernel passed as argument i.
func kernelIn(c call, i int) (*kernelFunc, result) {
	k, r := objectAt[kernel](c, i)
	if r != success {
		return nil, r
	}
	return k.in(c)
}

// moduleOf returns the module, in the current context, of the library passed as argument i.
func moduleOf(c call, i int) (*module, result) {
	lib, r := objectAt[library](c, i)
	if r != success {
		return nil, r
	}
	return lib.in(c.ctx)
}

// in returns the library's module in a context. If the context has none, in compiles it.
func (l *library) in(ctx *cudaContext) (*module, result) {
	if m := l.modules[ctx]; m != nil && !m.unloaded.Load() {
		return m, success
	}
	code, r := ctx.compile(l.sources, &jit.Options{})
	if r != success {
		return nil, r
	}
	m, r := ctx.newModule(code, l)
	if r == success {
		l.modules[ctx] = m
	}
	return m, r
}

var libraryFunctions = functions{
	"cuLibraryLoadData":         {cuLibraryLoadData, afterInit},
	"cuLibraryLoadFromFile":     {cuLibraryLoadFromFile, afterInit},
	"cuLibraryUnload":           {cuLibraryUnload, afterInit | uncaptured},
	"cuLibraryGetKernel":        {cuLibraryGetKernel, afterInit},
	"cuLibraryGetKernelCount":   {query(objectAt[library], 1, 0, func(l *library) uint32 { return uint32(len(l.kernels)) }), afterInit},
	"cuLibraryEnumerateKernels": {cuLibraryEnumerateKernels, afterInit},
	"cuLibraryGetModule":        {query(moduleOf, 1, 0, func(m *module) uintptr { return m.handle }), current},
	"cuLibraryGetGlobal":        {getGlobal(moduleOf), current},
	"cuLibraryGetManaged":       {cuLibraryGetManaged, current},
	"cuKernelGetFunction":       {query(kernelIn, 1, 0, func(f *kernelFunc) uintptr { return f.handle }), current},
	"cuKernelGetLibrary":        {query(objectAt[kernel], 1, 0, func(k *kernel) uintptr { return k.lib.handle }), afterInit},
	"cuKernelGetAttribute":      {getAttribute(kernelOn), afterInit},
	"cuKernelSetAttribute":      {cuKernelSetAttribute, afterInit},
	"cuKernelSetCacheConfig":    {cuKernelSetCacheConfig, afterInit},
	"cuKernelGetName":           {cuKernelGetName, afterInit},
	"cuKernelGetParamInfo":      {cuKernelGetParamInfo, afterInit},
}

func cuLibraryLoadData(c call) result {
	if c.Ptr(0) == nil || c.Ptr(1) == nil {
		return errInvalidValue
	}
	return loadLibrary(c, jit.Unsized(c.Ptr(1)))
}

func cuLibraryLoadFromFile(c call) result {
	name, ok := c.text(1)
	if !ok || c.Ptr(0) == nil {
		return errInvalidValue
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return cu.CUDA_ERROR_FILE_NOT_FOUND
	}
	data = append(data, 0)
	return loadLibrary(c, jit.Sized(data))
}

// loadLibrary compiles the image immediately, so that loading a broken image fails and writes the
// log. Without a current context, it discards the compiled code.
func loadLibrary(c call, image jit.Image) result {
	n := int(c.Uint32(4))
	opts, r := jit.ReadOptions(list[cu.CUjit_option](c, 2, n), list[unsafe.Pointer](c, 3, n), n)
	if r != success {
		return r
	}
	sources, r := c.e.readImage(image, &opts)
	if r != success {
		return r
	}
	ctx := c.ctx
	if ctx == nil || !ctx.alive {
		ctx = &cudaContext{e: c.e, dev: c.e.devices[0]}
	}
	code, r := ctx.compile(sources, &opts)
	if r != success {
		return r
	}
	lib := &library{sources: sources, modules: make(map[*cudaContext]*module), byName: make(map[string]*kernel)}
	if !ctx.alive {
		ctx.discard(code)
	} else {
		m, r := ctx.newModule(code, lib)
		if r != success {
			return r
		}
		lib.modules[ctx] = m
	}
	lib.handle = c.e.register(lib)
	for _, name := range code.Kernels() {
		k := &kernel{lib: lib, name: name}
		k.handle = c.e.register(k)
		lib.kernels, lib.byName[name] = append(lib.kernels, k), k
	}
	return put(c, 0, lib.handle)
}

func cuLibraryUnload(c call) result {
	lib := handleAt[library](c, 0)
	if lib == nil {
		return errInvalidHandle
	}
	for ctx, m := range lib.modules {
		if ctx.alive && !m.unloaded.Load() {
			ctx.wait()
			m.unload()
			c.e.forget(m.handle)
		}
	}
	for _, k := range lib.kernels {
		c.e.forget(k.handle)
	}
	c.e.forget(lib.handle)
	return success
}

func cuLibraryGetKernel(c call) result {
	lib := handleAt[library](c, 1)
	name, ok := c.text(2)
	switch {
	case c.Ptr(0) == nil || !ok:
		return errInvalidValue
	case lib == nil:
		return errInvalidHandle
	}
	k := lib.byName[name]
	if k == nil {
		return errNotFound
	}
	return put(c, 0, k.handle)
}

func cuLibraryEnumerateKernels(c call) result {
	lib := handleAt[library](c, 2)
	out := list[uintptr](c, 0, int(c.Uint32(1)))
	switch {
	case lib == nil:
		return errInvalidHandle
	case c.Ptr(0) != nil && c.Uint32(1) == 0:
		return success
	case out == nil:
		return errInvalidValue
	}
	for i := range min(len(out), len(lib.kernels)) {
		out[i] = lib.kernels[i].handle
	}
	return success
}

// cuLibraryGetManaged always fails, because the emulator does not distinguish .managed variables.
func cuLibraryGetManaged(c call) result {
	if handleAt[library](c, 2) == nil {
		return errInvalidHandle
	}
	return errNotFound
}

func cuKernelGetName(c call) result {
	if c.Ptr(0) == nil {
		return errInvalidValue
	}
	if f := handleAt[kernelFunc](c, 1); f != nil {
		return put(c, 0, c.e.cString(f.code.Name()))
	}
	k := handleAt[kernel](c, 1)
	if k == nil {
		return errInvalidHandle
	}
	return put(c, 0, c.e.cString(k.name))
}

// on returns the kernel's function on a device. It uses the current context if that context belongs
// to the device, and the device's primary context otherwise.
func (k *kernel) on(c call, d *device) (*kernelFunc, result) {
	switch {
	case c.ctx != nil && c.ctx.alive && c.ctx.dev == d:
	case d.primary.alive:
		c.ctx = d.primary
	default:
		return nil, errInvalidContext
	}
	return k.in(c)
}

// kernelOn returns the function of the kernel passed as argument i on the device passed as argument
// i+1.
func kernelOn(c call, i int) (*kernelFunc, result) {
	k, d := handleAt[kernel](c, i), deviceAt(c, i+1)
	switch {
	case k == nil:
		return nil, errInvalidHandle
	case d == nil:
		return nil, errInvalidDevice
	}
	return k.on(c, d)
}

func cuKernelSetAttribute(c call) result {
	f, r := kernelOn(c, 2)
	if r != success {
		return r
	}
	return f.SetAttribute(cu.CUfunction_attribute(c.Uint32(0)), c.Int32(1))
}

func cuKernelSetCacheConfig(c call) result {
	k, d := handleAt[kernel](c, 0), deviceAt(c, 2)
	switch {
	case k == nil:
		return errInvalidHandle
	case d == nil:
		return errInvalidDevice
	case cu.CUfunc_cache(c.Uint32(1)) > cu.CU_FUNC_CACHE_PREFER_EQUAL:
		return errInvalidValue
	}
	f, r := k.on(c, d)
	if r != success {
		return r
	}
	f.Cache = cu.CUfunc_cache(c.Uint32(1))
	return success
}

func cuKernelGetParamInfo(c call) result {
	k := handleAt[kernel](c, 0)
	if k == nil {
		return errInvalidHandle
	}
	if c.ctx == nil || !c.ctx.alive {
		return errInvalidContext
	}
	f, r := k.in(c)
	if r != success {
		return r
	}
	return f.putParam(c)
}
