package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

var fillFunctions = functions{
	"cuMemsetD8_v2":      {func(c call) result { return fillNow(c, 1) }, current},
	"cuMemsetD16_v2":     {func(c call) result { return fillNow(c, 2) }, current},
	"cuMemsetD32_v2":     {func(c call) result { return fillNow(c, 4) }, current},
	"cuMemsetD2D8_v2":    {func(c call) result { return fill2DNow(c, 1) }, current},
	"cuMemsetD2D16_v2":   {func(c call) result { return fill2DNow(c, 2) }, current},
	"cuMemsetD2D32_v2":   {func(c call) result { return fill2DNow(c, 4) }, current},
	"cuMemsetD8Async":    {func(c call) result { return fillLater(c, 1) }, afterInit},
	"cuMemsetD16Async":   {func(c call) result { return fillLater(c, 2) }, afterInit},
	"cuMemsetD32Async":   {func(c call) result { return fillLater(c, 4) }, afterInit},
	"cuMemsetD2D8Async":  {func(c call) result { return fill2DLater(c, 1) }, afterInit},
	"cuMemsetD2D16Async": {func(c call) result { return fill2DLater(c, 2) }, afterInit},
	"cuMemsetD2D32Async": {func(c call) result { return fill2DLater(c, 4) }, afterInit},
}

// fillOp writes an element of 1, 2 or 4 bytes to every position in a rectangle. It is also the
// operation of a memset node.
type fillOp struct {
	addr, pitch   uint64
	value         uint32
	element       uint64 // in bytes
	width, height uint64 // in elements and rows
}

func (op *fillOp) shape() result {
	if op.element != 1 && op.element != 2 && op.element != 4 || op.addr%op.element != 0 ||
		op.height > 1 && (op.pitch%op.element != 0 || op.pitch < op.width*op.element) {
		return errInvalidValue
	}
	return success
}

// check returns an error if a driver would reject the fill during the call.
func (op *fillOp) check(e *Emulator) result {
	if r := op.shape(); r != success || op.width*op.height == 0 {
		return r
	}
	a := e.allocationAt(op.addr)
	if !e.known(op.addr, op.span()) || (a != nil && a.releasing) {
		return errInvalidValue
	}
	return success
}

// span returns the number of bytes from the first byte of the fill to its end.
func (op *fillOp) span() uint64 { return (op.height-1)*op.pitch + op.width*op.element }

func (op *fillOp) run(x *execution) result {
	if op.width*op.height == 0 {
		return success
	}
	x.e.stats.fills.Add(1)
	x.spend(func(m *CostModel) time.Duration { return m.fill(op.width * op.height * op.element) })
	for y := range op.height {
		if !transfer.Fill(x.e.mem, op.addr+y*op.pitch, op.value, op.element, op.width) {
			return x.noteMissing("fill", op.addr)
		}
		x.e.written(x.order, "a fill", op.addr+y*op.pitch, op.width*op.element)
	}
	return success
}

// fillArgs takes (dst, value, count), and fill2DArgs takes (dst, pitch, value, width, height).
func fillArgs(c call, element uint64) *fillOp {
	n := c.Uint64(2)
	return &fillOp{addr: c.Uint64(0), pitch: n * element, value: c.Uint32(1), element: element, width: n, height: 1}
}

func fill2DArgs(c call, element uint64) *fillOp {
	return &fillOp{addr: c.Uint64(0), pitch: c.Uint64(1), value: c.Uint32(2), element: element, width: c.Uint64(3), height: c.Uint64(4)}
}

func fillNow(c call, element uint64) result   { return fillAndWait(c, fillArgs(c, element)) }
func fill2DNow(c call, element uint64) result { return fillAndWait(c, fill2DArgs(c, element)) }

func fillLater(c call, element uint64) result {
	return submitFill(c, 3, fillArgs(c, element))
}

func fill2DLater(c call, element uint64) result {
	return submitFill(c, 5, fill2DArgs(c, element))
}

func fillAndWait(c call, op *fillOp) result {
	if r := op.check(c.e); r != success {
		return r
	}
	s := c.ctx.legacy
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	s.enqueue(op)
	s.wait()
	return c.ctx.dev.fault
}

func submitFill(c call, streamArg int, op *fillOp) result {
	s, r := streamAt(c, streamArg)
	if r != success {
		return r
	}
	r = op.check(c.e)
	if s.cap != nil {
		r = op.shape() // a capture does not check memory
	}
	if r != success {
		return r
	}
	return s.submit(&fillNode{fillOp: *op, ctx: s.ctx})
}

type fillNode struct {
	fillOp
	ctx *cudaContext
}

func (*fillNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEMSET }

func (e *Emulator) fillNodeFrom(p *cu.CUDA_MEMSET_NODE_PARAMS, ctx *cudaContext) (*fillNode, result) {
	if p == nil {
		return nil, errInvalidValue
	}
	n := &fillNode{ctx: ctx, fillOp: fillOp{
		addr: uint64(p.Dst), pitch: uint64(p.Pitch), value: p.Value, element: uint64(p.ElementSize),
		width: uint64(p.Width), height: uint64(p.Height),
	}}
	if n.width == 0 || n.height == 0 {
		return nil, errInvalidValue
	}
	return n, n.check(e)
}

func (n *fillNode) fields() cu.CUDA_MEMSET_NODE_PARAMS {
	return cu.CUDA_MEMSET_NODE_PARAMS{
		Dst: cu.CUdeviceptr(n.addr), Pitch: uintptr(n.pitch), Value: n.value,
		ElementSize: uint32(n.element), Width: uintptr(n.width), Height: uintptr(n.height),
	}
}

func readFill(c call, i int, old *fillNode) (*fillNode, result) {
	ctx, r := contextFor(c, i, func() *cudaContext { return old.ctx })
	if r != success {
		return nil, r
	}
	return c.e.fillNodeFrom(at[cu.CUDA_MEMSET_NODE_PARAMS](c, i), ctx)
}
