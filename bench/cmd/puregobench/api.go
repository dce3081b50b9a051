package main

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// api holds the driver's functions, created in one of two ways.
type api struct {
	init                         func(flags uint32) uint32
	driverGetVersion             func(version *int32) uint32
	deviceGet                    func(device *int32, ordinal int32) uint32
	deviceGetName                func(name *byte, n, device int32) uint32
	primaryCtxRetain             func(context *uintptr, device int32) uint32
	ctxSetCurrent                func(context uintptr) uint32
	ctxGetCurrent                func(context *uintptr) uint32
	moduleLoadData               func(module *uintptr, image *byte) uint32
	moduleGetFunction            func(function *uintptr, module uintptr, name *byte) uint32
	memAlloc                     func(p *uint64, n uintptr) uint32
	memAllocHost                 func(p *unsafe.Pointer, n uintptr) uint32
	memcpyDtoH                   func(to unsafe.Pointer, from uint64, n uintptr) uint32
	memcpyHtoDAsync              func(to uint64, from unsafe.Pointer, n, stream uintptr) uint32
	memsetD32                    func(p uint64, value uint32, n uintptr) uint32
	streamCreate                 func(stream *uintptr, flags uint32) uint32
	streamSynchronize            func(stream uintptr) uint32
	eventCreate                  func(event *uintptr, flags uint32) uint32
	eventRecord                  func(event, stream uintptr) uint32
	launchKernel                 func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params *[1]unsafe.Pointer, extra uintptr) uint32
	graphCreate                  func(graph *uintptr, flags uint32) uint32
	graphDestroy                 func(graph uintptr) uint32
	graphAddKernelNode           func(node *uintptr, graph uintptr, deps *uintptr, n uintptr, p *kernelNodeParams) uint32
	graphInstantiate             func(exec *uintptr, graph uintptr, flags uint64) uint32
	graphExecKernelNodeSetParams func(exec, node uintptr, p *kernelNodeParams) uint32
	graphLaunch                  func(exec, stream uintptr) uint32
}

// resolve creates every function with RegisterFunc. If syscalln is set, it replaces the
// measured functions with functions that call SyscallN.
func resolve(library uintptr, syscalln bool) (*api, error) {
	d := new(api)
	symbols := make(map[string]uintptr)
	for symbol, function := range map[string]any{
		"cuInit": &d.init, "cuDriverGetVersion": &d.driverGetVersion,
		"cuDeviceGet": &d.deviceGet, "cuDeviceGetName": &d.deviceGetName,
		"cuDevicePrimaryCtxRetain": &d.primaryCtxRetain,
		"cuCtxSetCurrent":          &d.ctxSetCurrent, "cuCtxGetCurrent": &d.ctxGetCurrent,
		"cuModuleLoadData": &d.moduleLoadData, "cuModuleGetFunction": &d.moduleGetFunction,
		"cuMemAlloc_v2": &d.memAlloc, "cuMemAllocHost_v2": &d.memAllocHost,
		"cuMemcpyDtoH_v2": &d.memcpyDtoH, "cuMemcpyHtoDAsync_v2": &d.memcpyHtoDAsync, "cuMemsetD32_v2": &d.memsetD32,
		"cuStreamCreate": &d.streamCreate, "cuStreamSynchronize": &d.streamSynchronize,
		"cuEventCreate": &d.eventCreate, "cuEventRecord": &d.eventRecord,
		"cuLaunchKernel": &d.launchKernel,
		"cuGraphCreate":  &d.graphCreate, "cuGraphDestroy": &d.graphDestroy,
		"cuGraphAddKernelNode_v2": &d.graphAddKernelNode, "cuGraphInstantiateWithFlags": &d.graphInstantiate,
		"cuGraphExecKernelNodeSetParams_v2": &d.graphExecKernelNodeSetParams, "cuGraphLaunch": &d.graphLaunch,
	} {
		address, err := purego.Dlsym(library, symbol)
		if err != nil {
			return nil, err
		}
		symbols[symbol] = address
		purego.RegisterFunc(function, address)
	}
	if syscalln {
		d.throughSyscallN(symbols)
	}
	return d, nil
}

func (d *api) throughSyscallN(symbols map[string]uintptr) {
	getCurrent, record := symbols["cuCtxGetCurrent"], symbols["cuEventRecord"]
	d.ctxGetCurrent = func(context *uintptr) uint32 {
		return call(getCurrent, uintptr(unsafe.Pointer(context)))
	}
	d.eventRecord = func(event, stream uintptr) uint32 {
		return call(record, event, stream)
	}
	copyAsync, launch := symbols["cuMemcpyHtoDAsync_v2"], symbols["cuLaunchKernel"]
	d.memcpyHtoDAsync = func(to uint64, from unsafe.Pointer, n, stream uintptr) uint32 {
		return call(copyAsync, uintptr(to), uintptr(from), n, stream)
	}
	d.launchKernel = func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params *[1]unsafe.Pointer, extra uintptr) uint32 {
		return call(launch, f, uintptr(gx), uintptr(gy), uintptr(gz), uintptr(bx), uintptr(by), uintptr(bz),
			uintptr(shared), stream, uintptr(unsafe.Pointer(params)), extra)
	}
	add, set, graphLaunch := symbols["cuGraphAddKernelNode_v2"], symbols["cuGraphExecKernelNodeSetParams_v2"], symbols["cuGraphLaunch"]
	d.graphAddKernelNode = func(node *uintptr, graph uintptr, deps *uintptr, n uintptr, p *kernelNodeParams) uint32 {
		return call(add, uintptr(unsafe.Pointer(node)), graph, uintptr(unsafe.Pointer(deps)), n, uintptr(unsafe.Pointer(p)))
	}
	d.graphExecKernelNodeSetParams = func(exec, node uintptr, p *kernelNodeParams) uint32 {
		return call(set, exec, node, uintptr(unsafe.Pointer(p)))
	}
	d.graphLaunch = func(exec, stream uintptr) uint32 { return call(graphLaunch, exec, stream) }
}

// call is SyscallN for functions that take pointers. All pointers in this program point to
// the heap, so they stay valid as uintptr.
//
//go:uintptrescapes
func call(function uintptr, args ...uintptr) uint32 {
	r, _, _ := purego.SyscallN(function, args...)
	return uint32(r)
}
