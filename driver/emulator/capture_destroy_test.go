package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

// As observed on driver 580.
func TestWhatCannotBeDestroyedDuringACapture(t *testing.T) {
	r := newRig(t)
	p, s, add := r.alloc(4), r.stream(), r.kernel("add")
	g := r.graph()
	n := r.addKernel(g, add, p, 0, 1)
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, &n, nil, 1, relaxed))
	r.want("destroy the graph", r.CuGraphDestroy(g), cu.CUDA_ERROR_ILLEGAL_STATE)
	r.want("destroy a node", r.CuGraphDestroyNode(n), cu.CUDA_ERROR_ILLEGAL_STATE)
	var out cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &out))
	r.ok(r.CuGraphDestroyNode(n))
	r.ok(r.CuGraphDestroy(g))
}

// A capture that fails also destroys the graph that it was given.
func TestAnInvalidatedCaptureDestroysTheGraphItWasGiven(t *testing.T) {
	r := newRig(t)
	s, g := r.stream(), r.graph()
	r.ok(r.CuStreamBeginCaptureToGraph(s, g, nil, nil, 0, global))
	r.want("query", r.CuStreamQuery(s), unsupported)
	var out cu.CUgraph
	r.want("end", r.CuStreamEndCapture(s, &out), invalidated)
	const gone = cu.CUDA_ERROR_INVALID_VALUE
	r.want("destroy the graph", r.CuGraphDestroy(g), gone)
	if onGPU {
		t.Skip("a driver does not survive uses of it")
	}
	other := r.graph()
	var n cu.CUgraphNode
	r.want("capture into the graph", r.CuStreamBeginCaptureToGraph(s, g, nil, nil, 0, global), gone)
	r.want("a child of the graph", r.CuGraphAddChildGraphNode(&n, other, nil, 0, g), gone)
	r.want("a node of the graph", r.CuGraphAddEmptyNode(&n, g, nil, 0), gone)
	r.want("a clone of the graph", r.CuGraphClone(&out, g), gone)
}
