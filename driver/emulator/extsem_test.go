package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// The results of driver 580 for a descriptor that does not name a semaphore.
func TestImportOfNoSemaphore(t *testing.T) {
	r := newRig(t)
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD}
	*d.Handle.Fd() = 1 << 20
	var s cu.CUexternalSemaphore
	r.want("import", r.CuImportExternalSemaphore(&s, &d), cu.CUDA_ERROR_UNKNOWN)
}

func TestExternalSemaphoreNodes(t *testing.T) {
	if onGPU {
		t.Skip("there is no other API here to make a semaphore")
	}
	r := newRig(t)
	theirs, err := r.emu.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD)
	r.ok(err)
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD}
	*d.Handle.Fd() = int32(theirs.Export())
	sems := make([]cu.CUexternalSemaphore, 1)
	r.ok(r.CuImportExternalSemaphore(&sems[0], &d))
	if n := len(r.emu.Leaks()); n != 2 { // with the primary context
		t.Errorf("%d leaks while it is open", n)
	}
	signal := []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS{{}}
	wait := []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS{{}}
	signal[0].Params.Fence.Value, wait[0].Params.Fence.Value = 2, 2
	sp := cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{ExtSemArray: &sems[0], ParamsArray: &signal[0], NumExtSems: 1}
	wp := cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{ExtSemArray: &sems[0], ParamsArray: &wait[0], NumExtSems: 1}
	var g cu.CUgraph
	r.ok(r.CuGraphCreate(&g, 0))
	var s, w cu.CUgraphNode
	r.ok(r.CuGraphAddExternalSemaphoresSignalNode(&s, g, nil, 0, &sp))
	r.ok(r.CuGraphAddExternalSemaphoresWaitNode(&w, g, &s, 1, &wp))
	r.want("signal's parameters of a wait", r.CuGraphExternalSemaphoresSignalNodeGetParams(w, &sp), cu.CUDA_ERROR_INVALID_VALUE)
	r.want("no semaphores", r.CuGraphExternalSemaphoresWaitNodeSetParams(w, &cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{}), cu.CUDA_ERROR_INVALID_VALUE)
	var x cu.CUgraphExec
	r.ok(r.CuGraphInstantiateWithFlags(&x, g, 0))
	r.ok(r.CuGraphLaunch(x, 0))
	r.ok(r.CuStreamSynchronize(0))
	if theirs.Value() != 2 {
		t.Errorf("the value is %d", theirs.Value())
	}
	r.ok(r.CuGraphExecDestroy(x))
	r.ok(r.CuGraphDestroy(g))
	r.ok(r.CuDestroyExternalSemaphore(sems[0]))
	r.want("destroyed twice", r.CuDestroyExternalSemaphore(sems[0]), cu.CUDA_ERROR_INVALID_HANDLE)
}

// Closing the emulator ends a wait for a signal that never comes.
func TestCloseEndsAWaitForASemaphore(t *testing.T) {
	e := emulator.New(emulator.Config{})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := e.NewSemaphore(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := c.ImportSemaphoreFD(cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, int(theirs.Export()))
	if err != nil {
		t.Fatal(err)
	}
	wait, err := driver.NewSemaphoreWait(driver.SemaphorePoint{Semaphore: ours})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LegacyStream().Do(wait); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil { // returns: the wait is over
		t.Error(err)
	}
}

// The edge data that driver 580 accepts between nodes. A removal without edge data removes any
// edge.
func TestEdgeDataBetweenNodes(t *testing.T) {
	r := newRig(t)
	m := r.module(edgeKernel)
	var f cu.CUfunction
	name := []byte("k\x00")
	r.ok(r.CuModuleGetFunction(&f, m, &name[0]))
	const ok, bad = cu.CUDA_SUCCESS, cu.CUDA_ERROR_INVALID_VALUE
	for _, test := range []struct {
		data                                cu.CUgraphEdgeData
		kernelKernel, kernelEmpty, toKernel cu.CUresult
	}{
		{cu.CUgraphEdgeData{}, ok, ok, ok},
		{cu.CUgraphEdgeData{From_port: 1}, bad, bad, bad},
		{cu.CUgraphEdgeData{From_port: 2}, ok, ok, bad},
		{cu.CUgraphEdgeData{From_port: 3}, bad, bad, bad},
		{cu.CUgraphEdgeData{Type: 1}, bad, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 1}, ok, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 2}, ok, bad, bad},
		{cu.CUgraphEdgeData{Type: 1, From_port: 3}, bad, bad, bad},
	} {
		var g cu.CUgraph
		r.ok(r.CuGraphCreate(&g, 0))
		p := cu.CUDA_KERNEL_NODE_PARAMS{Func: f, GridDimX: 1, GridDimY: 1, GridDimZ: 1, BlockDimX: 1, BlockDimY: 1, BlockDimZ: 1}
		var a, b, c cu.CUgraphNode
		r.ok(r.CuGraphAddKernelNode(&a, g, nil, 0, &p))
		r.ok(r.CuGraphAddKernelNode(&b, g, nil, 0, &p))
		r.ok(r.CuGraphAddEmptyNode(&c, g, nil, 0))
		r.want("kernel to kernel", r.CuGraphAddDependencies(g, &a, &b, &test.data, 1), test.kernelKernel)
		r.want("kernel to empty", r.CuGraphAddDependencies(g, &a, &c, &test.data, 1), test.kernelEmpty)
		r.want("empty to kernel", r.CuGraphAddDependencies(g, &c, &b, &test.data, 1), test.toKernel)
		if test.kernelKernel == ok {
			r.want("removal without data", r.CuGraphRemoveDependencies(g, &a, &b, nil, 1), ok)
		}
		r.ok(r.CuGraphDestroy(g))
	}
}

const edgeKernel = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k() { ret; }\n"
