// Command puregobench makes the benchmark's driver calls through purego, as most Go programs
// without cgo do. With the argument "registerfunc", it calls functions created by
// purego.RegisterFunc. With "syscalln", it calls purego.SyscallN.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/purecuda/cuda/bench/internal/child"
)

func main() {
	runtime.LockOSThread() // the context is current only on this thread
	child.Main(run)
}

func run() error {
	library, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return err
	}
	d, err := resolve(library, slices.Contains(os.Args, "syscalln"))
	if err != nil {
		return err
	}
	b := &bench{d: d}
	if err := b.start(); err != nil {
		return err
	}
	if child.First() {
		return b.first()
	}
	if err := b.prepare(); err != nil {
		return err
	}
	return child.Serve(b.description(), b.rows())
}

// bench is on the heap and holds all data that the driver reads through pointers.
type bench struct {
	d               *api
	add             uintptr
	stream          uintptr
	counter, target uint64
	host            unsafe.Pointer
	event, timed    uintptr
	one, thousand   uintptr
	graph           uintptr
	arguments       [1]unsafe.Pointer
	params          kernelNodeParams
	nodes, fresh    [child.Chain]uintptr
}

// kernelNodeParams is CUDA_KERNEL_NODE_PARAMS_v2.
type kernelNodeParams struct {
	function               uintptr
	gridX, gridY, gridZ    uint32
	blockX, blockY, blockZ uint32
	sharedMemBytes         uint32
	kernelParams           unsafe.Pointer
	extra, kern, context   uintptr
}

func check(code uint32) error {
	if code != 0 {
		return fmt.Errorf("CUDA error %d", code)
	}
	return nil
}

func (b *bench) start() error {
	var device int32
	var context, module uintptr
	ptx := append(slices.Clone(child.AddPTX), 0)
	name := []byte("add\x00")
	b.arguments[0] = unsafe.Pointer(&b.counter)
	return steps(
		func() uint32 { return b.d.init(0) },
		func() uint32 { return b.d.deviceGet(&device, 0) },
		func() uint32 { return b.d.primaryCtxRetain(&context, device) },
		func() uint32 { return b.d.ctxSetCurrent(context) },
		func() uint32 { return b.d.moduleLoadData(&module, &ptx[0]) },
		func() uint32 { return b.d.moduleGetFunction(&b.add, module, &name[0]) },
		func() uint32 { return b.d.streamCreate(&b.stream, 1) },
		func() uint32 { return b.d.memAlloc(&b.counter, 4) },
		func() uint32 { return b.d.memsetD32(b.counter, 41, 1) },
	)
}

func (b *bench) first() error {
	var value uint32
	err := steps(
		b.launch,
		b.synchronize,
		func() uint32 { return b.d.memcpyDtoH(unsafe.Pointer(&value), b.counter, 4) },
	)
	if err != nil {
		return err
	}
	return child.Done(value)
}

func (b *bench) prepare() error {
	b.params = kernelNodeParams{
		function: b.add, gridX: 1, gridY: 1, gridZ: 1, blockX: 1, blockY: 1, blockZ: 1,
		kernelParams: unsafe.Pointer(&b.arguments),
	}
	return steps(
		func() uint32 { return b.d.memAlloc(&b.target, child.CopyBytes) },
		func() uint32 { return b.d.memAllocHost(&b.host, child.CopyBytes) },
		func() uint32 { return b.d.eventCreate(&b.timed, 0) },
		func() uint32 { return b.d.eventCreate(&b.event, 2) },
		func() uint32 { return b.chain(&b.one, 1) },
		func() uint32 { return b.chain(&b.thousand, child.Chain) },
	)
}

func (b *bench) description() string {
	name := make([]byte, 128)
	var driver int32
	if err := steps(
		func() uint32 { return b.d.deviceGetName(&name[0], int32(len(name)), 0) },
		func() uint32 { return b.d.driverGetVersion(&driver) },
	); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("purego %s, %s, %s, driver %d.%d", version(), runtime.Version(),
		name[:max(0, slices.Index(name, 0))], driver/1000, driver%1000/10)
}

// version returns the version of purego in this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/ebitengine/purego" {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

// steps makes the calls in order and stops at the first that fails.
func steps(calls ...func() uint32) error {
	for i, call := range calls {
		if err := check(call()); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (b *bench) chain(exec *uintptr, n int) uint32 {
	var g uintptr
	if r := b.d.graphCreate(&g, 0); r != 0 {
		return r
	}
	if r := b.addChain(g, &b.nodes, n); r != 0 {
		return r
	}
	return b.d.graphInstantiate(exec, g, 0)
}

func (b *bench) addChain(g uintptr, nodes *[child.Chain]uintptr, n int) uint32 {
	var previous *uintptr
	var deps uintptr
	for i := range n {
		if r := b.d.graphAddKernelNode(&nodes[i], g, previous, deps, &b.params); r != 0 {
			return r
		}
		previous, deps = &nodes[i], 1
	}
	return 0
}

func (b *bench) launch() uint32 {
	return b.d.launchKernel(b.add, 1, 1, 1, 1, 1, 1, 0, b.stream, &b.arguments, 0)
}

func (b *bench) synchronize() uint32 { return b.d.streamSynchronize(b.stream) }

func (b *bench) rows() map[string]child.Row {
	settle := func() error { return check(b.synchronize()) }
	replayed := func() error { return errors.Join(check(b.d.graphLaunch(b.thousand, b.stream)), settle()) }
	return map[string]child.Row{
		"ctx_get_current": {Run: func(n int) error {
			current := new(uintptr)
			return repeat(n, func(int) uint32 { return b.d.ctxGetCurrent(current) })
		}},
		"node_add": {
			Before: func() error { return check(b.d.graphCreate(&b.graph, 0)) },
			Run:    func(n int) error { return check(b.addChain(b.graph, &b.fresh, n)) },
			After:  func() error { return check(b.d.graphDestroy(b.graph)) },
		},
		"node_update": {Before: replayed, Run: func(n int) error {
			return repeat(n, func(i int) uint32 {
				return b.d.graphExecKernelNodeSetParams(b.thousand, b.nodes[i%child.Chain], &b.params)
			})
		}},
		"launch":              {After: settle, Run: each(b.launch)},
		"graph_launch_1":      {After: settle, Run: each(func() uint32 { return b.d.graphLaunch(b.one, b.stream) })},
		"graph_launch_1000":   {After: settle, Run: each(func() uint32 { return b.d.graphLaunch(b.thousand, b.stream) })},
		"event_record":        {After: settle, Run: each(func() uint32 { return b.d.eventRecord(b.event, b.stream) })},
		"event_record_timing": {After: settle, Run: each(func() uint32 { return b.d.eventRecord(b.timed, b.stream) })},
		"copy_4k": {After: settle, Run: each(func() uint32 {
			return b.d.memcpyHtoDAsync(b.target, b.host, child.CopyBytes, b.stream)
		})},
	}
}

func each(call func() uint32) func(int) error {
	return func(n int) error { return repeat(n, func(int) uint32 { return call() }) }
}

func repeat(n int, call func(i int) uint32) error {
	for i := range n {
		if r := call(i); r != 0 {
			return check(r)
		}
	}
	return nil
}
