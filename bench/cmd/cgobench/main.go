// Command cgobench makes the benchmark's driver calls through cgo in the fastest way. It
// uses noescape and nocallback, keeps arguments in C memory, and sets the context once on a
// locked thread.
package main

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../c
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "driver.c"

// Go cannot call C function pointers, so each has a small wrapper.
static CUresult getCurrent(CUcontext *c) { return cuCtxGetCurrent(c); }
static CUresult launchKernel(CUfunction f, CUstream s, void **a) { return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, a, NULL); }
static CUresult graphCreate(CUgraph *g) { return cuGraphCreate(g, 0); }
static CUresult graphDestroy(CUgraph g) { return cuGraphDestroy(g); }
static CUresult addKernelNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t count, const kernel_node_params *p) { return cuGraphAddKernelNode(n, g, deps, count, p); }
static CUresult instantiate(CUgraphExec *x, CUgraph g) { return cuGraphInstantiate(x, g, 0); }
static CUresult setParams(CUgraphExec x, CUgraphNode n, const kernel_node_params *p) { return cuGraphExecKernelNodeSetParams(x, n, p); }
static CUresult graphLaunch(CUgraphExec x, CUstream s) { return cuGraphLaunch(x, s); }
static CUresult eventRecord(CUevent e, CUstream s) { return cuEventRecord(e, s); }
static CUresult copyAsync(CUdeviceptr d, const void *h, size_t n, CUstream s) { return cuMemcpyHtoDAsync(d, h, n, s); }
static CUresult synchronize(CUstream s) { return cuStreamSynchronize(s); }

// The state of the setup calls, which are not measured.
typedef struct {
	CUmodule module;
	CUfunction add;
	CUstream stream;
	CUdeviceptr counter, target;
	void *host;
	CUevent event, timed;
	kernel_node_params params;
	void *arguments[1];
	char device[128];
	int version;
} setup;

static CUresult start(setup *s, const char *ptx) {
	CUdevice device;
	CUcontext context;
	CUresult r;
	open_driver();
	if ((r = cuInit(0)) || (r = cuDeviceGet(&device, 0)) || (r = cuDevicePrimaryCtxRetain(&context, device)) ||
		(r = cuCtxSetCurrent(context)) || (r = cuModuleLoadData(&s->module, ptx)) ||
		(r = cuModuleGetFunction(&s->add, s->module, "add")) || (r = cuStreamCreate(&s->stream, STREAM_NON_BLOCKING)) ||
		(r = cuMemAlloc(&s->counter, 4)) || (r = cuMemsetD32(s->counter, 41, 1)))
		return r;
	s->arguments[0] = &s->counter;
	return 0;
}

static CUresult first(setup *s, unsigned *value) {
	CUresult r;
	if ((r = launchKernel(s->add, s->stream, s->arguments)) || (r = cuStreamSynchronize(s->stream)))
		return r;
	return cuMemcpyDtoH(value, s->counter, 4);
}

static CUresult prepare(setup *s, size_t bytes) {
	CUresult r;
	if ((r = cuMemAlloc(&s->target, bytes)) || (r = cuMemAllocHost(&s->host, bytes)) ||
		(r = cuEventCreate(&s->timed, 0)) || (r = cuEventCreate(&s->event, EVENT_DISABLE_TIMING)) ||
		(r = cuDeviceGetName(s->device, sizeof s->device, 0)) || (r = cuDriverGetVersion(&s->version)))
		return r;
	s->params = (kernel_node_params){s->add, 1, 1, 1, 1, 1, 1, 0, s->arguments, NULL, NULL, NULL};
	return 0;
}

#cgo noescape getCurrent
#cgo nocallback getCurrent
#cgo noescape launchKernel
#cgo nocallback launchKernel
#cgo noescape addKernelNode
#cgo nocallback addKernelNode
#cgo noescape setParams
#cgo nocallback setParams
#cgo noescape graphLaunch
#cgo nocallback graphLaunch
#cgo noescape eventRecord
#cgo nocallback eventRecord
#cgo noescape copyAsync
#cgo nocallback copyAsync
#cgo noescape synchronize
#cgo nocallback synchronize
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/bench/internal/child"
)

func main() {
	runtime.LockOSThread()
	child.Main(run)
}

func check(r C.CUresult) error {
	if r != 0 {
		return fmt.Errorf("CUDA error %d", int(r))
	}
	return nil
}

func run() error {
	ptx := C.CString(string(child.AddPTX))
	defer C.free(unsafe.Pointer(ptx))
	s := (*C.setup)(C.calloc(1, C.sizeof_setup))
	defer C.free(unsafe.Pointer(s))
	if err := check(C.start(s, ptx)); err != nil {
		return err
	}
	if child.First() {
		var value C.uint
		if err := check(C.first(s, &value)); err != nil {
			return err
		}
		return child.Done(uint32(value))
	}
	if err := check(C.prepare(s, child.CopyBytes)); err != nil {
		return err
	}
	b := bench{s: s}
	if err := b.prepare(); err != nil {
		return err
	}
	description := fmt.Sprintf("cgo, %s, %s, driver %d.%d", runtime.Version(), C.GoString(&s.device[0]), s.version/1000, s.version%1000/10)
	rows := b.rows()
	b.waitRows(rows)
	return child.Serve(description, rows)
}

type bench struct {
	s             *C.setup
	one, thousand C.CUgraphExec
	nodes         []C.CUgraphNode // nodes are in C memory, like all data that the driver reads
	fresh         []C.CUgraphNode
	graph         C.CUgraph
	waits         waits
}

func cNodes() []C.CUgraphNode {
	p := C.calloc(child.Chain, C.size_t(unsafe.Sizeof(C.CUgraphNode(nil))))
	return unsafe.Slice((*C.CUgraphNode)(p), child.Chain)
}

func (b *bench) prepare() (err error) {
	b.nodes, b.fresh = cNodes(), cNodes()
	if b.one, err = b.chain(1); err != nil {
		return err
	}
	if b.thousand, err = b.chain(child.Chain); err != nil {
		return err
	}
	return b.prepareWaits()
}

func (b *bench) chain(n int) (exec C.CUgraphExec, err error) {
	var g C.CUgraph
	if err := check(C.graphCreate(&g)); err != nil {
		return nil, err
	}
	if err := b.addChain(g, b.nodes, n); err != nil {
		return nil, err
	}
	return exec, check(C.instantiate(&exec, g))
}

func (b *bench) addChain(g C.CUgraph, nodes []C.CUgraphNode, n int) error {
	var previous *C.CUgraphNode
	var deps C.size_t
	for i := range n {
		if err := check(C.addKernelNode(&nodes[i], g, previous, deps, &b.s.params)); err != nil {
			return err
		}
		previous, deps = &nodes[i], 1
	}
	return nil
}

func (b *bench) rows() map[string]child.Row {
	s := b.s
	newGraph := func() error { return check(C.graphCreate(&b.graph)) }
	dropGraph := func() error { return check(C.graphDestroy(b.graph)) }
	settle := func() error { return check(C.synchronize(s.stream)) }
	replayed := func() error { return errors.Join(b.graphLaunches(&b.thousand)(1), settle()) }
	return map[string]child.Row{
		"ctx_get_current": {Run: func(n int) error {
			var current C.CUcontext
			for range n {
				if r := C.getCurrent(&current); r != 0 {
					return check(r)
				}
			}
			return nil
		}},
		"node_add": {Before: newGraph, After: dropGraph, Run: func(n int) error {
			return b.addChain(b.graph, b.fresh, n)
		}},
		"node_update": {Before: replayed, Run: func(n int) error {
			for i := range n {
				if r := C.setParams(b.thousand, b.nodes[i%child.Chain], &s.params); r != 0 {
					return check(r)
				}
			}
			return nil
		}},
		"launch": {After: settle, Run: func(n int) error {
			for range n {
				if r := C.launchKernel(s.add, s.stream, &s.arguments[0]); r != 0 {
					return check(r)
				}
			}
			return nil
		}},
		"graph_launch_1":      {After: settle, Run: b.graphLaunches(&b.one)},
		"graph_launch_1000":   {After: settle, Run: b.graphLaunches(&b.thousand)},
		"event_record":        {After: settle, Run: b.records(s.event)},
		"event_record_timing": {After: settle, Run: b.records(s.timed)},
		"copy_4k": {After: settle, Run: func(n int) error {
			for range n {
				if r := C.copyAsync(s.target, s.host, child.CopyBytes, s.stream); r != 0 {
					return check(r)
				}
			}
			return nil
		}},
	}
}

func (b *bench) graphLaunches(exec *C.CUgraphExec) func(int) error {
	return func(n int) error {
		for range n {
			if r := C.graphLaunch(*exec, b.s.stream); r != 0 {
				return check(r)
			}
		}
		return nil
	}
}

func (b *bench) records(event C.CUevent) func(int) error {
	return func(n int) error {
		for range n {
			if r := C.eventRecord(event, b.s.stream); r != 0 {
				return check(r)
			}
		}
		return nil
	}
}
