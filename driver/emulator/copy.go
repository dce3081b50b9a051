package emulator

import (
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// reachable reports whether the memory on one side of a copy exists now, or will exist while a
// graph runs.
func (e *Emulator) reachable(p *transfer.Side, n transfer.Extent) bool {
	if p.Host != nil || p.Staged != nil {
		return true
	}
	first := p.Offset(0, 0)
	return e.known(p.Addr+first, p.Span(n)-first)
}

type copyOp struct {
	dst, src transfer.Side
	extent   transfer.Extent
	flights  []*flight // for CheckHostMemory
}

func (op *copyOp) run(x *execution) result {
	way := x.e.direction(&op.dst, &op.src)
	x.e.stats.copied(op.extent.Bytes(), way)
	x.spend(func(m *CostModel) time.Duration { return m.copy(op.extent.Bytes(), way) })
	if !op.move(x.e) {
		return x.reportCopyFault(op)
	}
	x.e.copied(x.order, &op.dst, &op.src, op.extent)
	return success
}

// pinned replaces a host pointer with an address if the memory at that address is allocated through
// the driver. The copy then looks up the memory when it runs.
func (e *Emulator) pinned(p *transfer.Side, n transfer.Extent) {
	if p.Host == nil {
		return
	}
	addr := uint64(uintptr(p.Host))
	probe := transfer.Side{Addr: addr, Pitch: p.Pitch, Height: p.Height, X: p.X, Y: p.Y, Z: p.Z}
	if e.allocationAt(addr) != nil && e.reachable(&probe, n) {
		*p = probe
	}
}

// checkCopy rejects a copy if memory on either side does not exist or is being freed.
func (e *Emulator) checkCopy(dst, src *transfer.Side, n transfer.Extent) result {
	if n.Bytes() == 0 {
		return success
	}
	if dst.Addr|src.Addr == 0 && dst.Host == nil && src.Host == nil {
		return errInvalidValue
	}
	if !e.reachable(dst, n) || !e.reachable(src, n) || e.releasing(dst) || e.releasing(src) {
		return errInvalidValue
	}
	return success
}

// releasing reports whether a free of the memory has been submitted.
func (e *Emulator) releasing(p *transfer.Side) bool {
	if p.Host != nil || p.Staged != nil {
		return false
	}
	a := e.allocationAt(p.Addr + p.Offset(0, 0))
	return a != nil && a.releasing
}

// copyNow performs a synchronous copy once the legacy stream's work is done. It copies on the
// calling goroutine, because the host memory may be on the caller's stack.
func copyNow(c call, dst, src *transfer.Side, n transfer.Extent) result {
	e, s := c.e, c.ctx.legacy
	if r := e.checkCopy(dst, src, n); r != success {
		return r
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	s.wait()
	if c.ctx.dev.fault != success {
		return c.ctx.dev.fault
	}
	return e.copyHere(c.ctx, dst, src, n)
}

func (e *Emulator) copyHere(ctx *cudaContext, dst, src *transfer.Side, n transfer.Extent) result {
	way := e.direction(dst, src)
	e.stats.copied(n.Bytes(), way)
	if m := e.cfg.CostModel; m != nil {
		e.hostTime += m.Submit + m.copy(n.Bytes(), way)
	}
	order := e.hostOrder()
	e.unlock()
	ok := transfer.Copy(e.mem, dst, src, n)
	e.copied(order, dst, src, n)
	if order != nil {
		order.Forget()
	}
	e.mu.Lock()
	if !ok {
		ctx.dev.fault = errIllegalAddress
	}
	return ctx.dev.fault
}

// copyLater submits an asynchronous copy. Like a driver, it reads pageable source memory during the
// call and writes pageable destination memory before it returns. The queue never refers to pageable
// memory.
func copyLater(c call, s *stream, dst, src *transfer.Side, n transfer.Extent) result {
	e := c.e
	e.pinned(dst, n)
	e.pinned(src, n)
	if r := e.checkCopy(dst, src, n); r != success {
		return r
	}
	if s.cap != nil {
		return captureCopy(c, s, dst, src, n)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	if n.Bytes() == 0 {
		return success
	}
	if dst.Host != nil {
		s.wait()
		if s.ctx.dev.fault != success {
			return s.ctx.dev.fault
		}
		return e.copyHere(s.ctx, dst, src, n)
	}
	if src.Host != nil {
		src.Stage(n)
	}
	enqueueCopy(s, dst, src, n)
	return success
}

func enqueueCopy(s *stream, dst, src *transfer.Side, n transfer.Extent) {
	op := &copyOp{extent: n}
	op.dst = transfer.Side{Staged: dst.Staged, Addr: dst.Addr, Pitch: dst.Pitch, Height: dst.Height, X: dst.X, Y: dst.Y, Z: dst.Z}
	op.src = transfer.Side{Staged: src.Staged, Addr: src.Addr, Pitch: src.Pitch, Height: src.Height, X: src.X, Y: src.Y, Z: src.Z}
	s.enqueue(op)
}

var copyFunctions = functions{
	"cuMemcpy":              {cuMemcpy, current},
	"cuMemcpyHtoD_v2":       {cuMemcpyHtoD, current},
	"cuMemcpyDtoH_v2":       {cuMemcpyDtoH, current},
	"cuMemcpyDtoD_v2":       {cuMemcpyDtoD, current},
	"cuMemcpyPeer":          {cuMemcpyPeer, current},
	"cuMemcpyAsync":         {cuMemcpyAsync, afterInit},
	"cuMemcpyHtoDAsync_v2":  {cuMemcpyHtoDAsync, afterInit},
	"cuMemcpyDtoHAsync_v2":  {cuMemcpyDtoHAsync, afterInit},
	"cuMemcpyDtoDAsync_v2":  {cuMemcpyDtoDAsync, afterInit},
	"cuMemcpyPeerAsync":     {cuMemcpyPeerAsync, afterInit},
	"cuMemcpyBatchAsync":    {cuMemcpyBatchAsyncV1, afterInit},
	"cuMemcpyBatchAsync_v2": {cuMemcpyBatchAsyncV2, afterInit},
}

// missing reports whether argument i or j is NULL although n is not 0.
func missing(c call, i, j int, n uint64) bool { return n != 0 && (c.Word(i) == 0 || c.Word(j) == 0) }

// lineNow performs a synchronous copy of n bytes. dst and src must remain on the stack, because
// they may refer to memory on the caller's stack.
func lineNow(c call, dst, src transfer.Side, n uint64) result {
	if n != 0 && (dst.Null() || src.Null()) {
		return errInvalidValue
	}
	return copyNow(c, &dst, &src, transfer.Line(n))
}

// lineLater submits an asynchronous copy of n bytes to the stream passed as argument i.
func lineLater(c call, i int, dst, src transfer.Side, n uint64) result {
	s, r := streamAt(c, i)
	switch {
	case r != success:
		return r
	case n != 0 && (dst.Null() || src.Null()):
		return errInvalidValue
	}
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

func cuMemcpyHtoD(c call) result {
	return lineNow(c, transfer.Device(c.Uint64(0)), transfer.Host(c.Ptr(1)), c.Uint64(2))
}

func cuMemcpyDtoH(c call) result {
	return lineNow(c, transfer.Host(c.Ptr(0)), transfer.Device(c.Uint64(1)), c.Uint64(2))
}

func cuMemcpyDtoD(c call) result {
	return lineNow(c, transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(1)), c.Uint64(2))
}

// cuMemcpy infers the kinds of memory from the addresses. It does not support pageable host memory.
// Only functions with a pointer parameter do.
func cuMemcpy(c call) result { return cuMemcpyDtoD(c) }

func cuMemcpyPeer(c call) result {
	n := c.Uint64(4)
	if missing(c, 0, 2, n) {
		return errInvalidValue
	}
	if handleAt[cudaContext](c, 1) == nil || handleAt[cudaContext](c, 3) == nil {
		return errInvalidContext
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(2))
	return copyNow(c, &dst, &src, transfer.Line(n))
}

func cuMemcpyHtoDAsync(c call) result {
	return lineLater(c, 3, transfer.Device(c.Uint64(0)), transfer.Host(c.Ptr(1)), c.Uint64(2))
}

func cuMemcpyDtoHAsync(c call) result {
	return lineLater(c, 3, transfer.Host(c.Ptr(0)), transfer.Device(c.Uint64(1)), c.Uint64(2))
}

func cuMemcpyDtoDAsync(c call) result {
	return lineLater(c, 3, transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(1)), c.Uint64(2))
}

func cuMemcpyAsync(c call) result { return cuMemcpyDtoDAsync(c) }

func cuMemcpyPeerAsync(c call) result {
	s, r := streamAt(c, 5)
	if r != success {
		return r
	}
	n := c.Uint64(4)
	if missing(c, 0, 2, n) {
		return errInvalidValue
	}
	if handleAt[cudaContext](c, 1) == nil || handleAt[cudaContext](c, 3) == nil {
		return errInvalidContext
	}
	if s.cap != nil { // driver 580 cannot capture this copy
		return s.cap.invalidate(errUnsupported)
	}
	dst, src := transfer.Device(c.Uint64(0)), transfer.Device(c.Uint64(2))
	return copyLater(c, s, &dst, &src, transfer.Line(n))
}

// cuMemcpyBatchAsyncV1 also takes a pointer to which it writes the index of the copy that failed.
func cuMemcpyBatchAsyncV1(c call) result {
	return copyBatch(c, 8, at[uintptr](c, 7))
}

func cuMemcpyBatchAsyncV2(c call) result { return copyBatch(c, 7, nil) }

// copyBatch enqueues the copies in order. It ignores the attributes, which only allow other orders.
func copyBatch(c call, streamArg int, failed *uintptr) result {
	n := int(c.Word(3))
	dsts, srcs, sizes := list[uint64](c, 0, n), list[uint64](c, 1, n), list[uintptr](c, 2, n)
	if n == 0 || dsts == nil || srcs == nil || sizes == nil || c.Ptr(4) == nil || c.Word(6) == 0 {
		return errInvalidValue
	}
	s, r := streamAt(c, streamArg)
	switch {
	case r != success:
		return r
	case s.isLegacy() || s.cap != nil:
		return errNotSupported
	}
	for i := range n {
		dst, src := transfer.Device(dsts[i]), transfer.Device(srcs[i])
		if r := c.e.checkCopy(&dst, &src, transfer.Line(uint64(sizes[i]))); r != success {
			if failed != nil {
				*failed = uintptr(i)
			}
			return r
		}
	}
	for i := range n {
		dst, src := transfer.Device(dsts[i]), transfer.Device(srcs[i])
		enqueueCopy(s, &dst, &src, transfer.Line(uint64(sizes[i])))
	}
	return success
}

var copy3DFunctions = functions{
	"cuMemcpy2D_v2":          {sides(sides2D).now, current},
	"cuMemcpy2DUnaligned_v2": {sides(sides2D).now, current},
	"cuMemcpy3D_v2":          {sides(sides3D).now, current},
	"cuMemcpy3DPeer":         {sides(sidesPeer).now, current},
	"cuMemcpy2DAsync_v2":     {sides(sides2D).later, afterInit},
	"cuMemcpy3DAsync_v2":     {sides(sides3D).later, afterInit},
	"cuMemcpy3DPeerAsync":    {cuMemcpy3DPeerAsync, afterInit},
}

// sides reads the sides of a copy from argument 0. It returns them by value, because they may refer
// to memory on the caller's stack and must therefore not escape to the heap.
type sides func(c call) (dst, src transfer.Side, n transfer.Extent, r result)

func sides2D(c call) (dst, src transfer.Side, n transfer.Extent, r result) {
	n, r = transfer.Of2D(c.e.arrayOf, at[cu.CUDA_MEMCPY2D](c, 0), &dst, &src)
	return dst, src, n, r
}

func sides3D(c call) (dst, src transfer.Side, n transfer.Extent, r result) {
	n, r = transfer.Of3D(c.e.arrayOf, at[cu.CUDA_MEMCPY3D](c, 0), &dst, &src)
	return dst, src, n, r
}

func sidesPeer(c call) (dst, src transfer.Side, n transfer.Extent, r result) {
	p := at[cu.CUDA_MEMCPY3D_PEER](c, 0)
	switch {
	case p == nil || p.SrcLOD != 0 || p.DstLOD != 0:
		return dst, src, n, errInvalidValue
	case find[cudaContext](c.e, uintptr(p.SrcContext)) == nil || find[cudaContext](c.e, uintptr(p.DstContext)) == nil:
		return dst, src, n, errInvalidContext
	}
	n, r = transfer.OfPeer(c.e.arrayOf, p, &dst, &src)
	return dst, src, n, r
}

func (read sides) now(c call) result {
	dst, src, n, r := read(c)
	if r != success {
		return r
	}
	return copyNow(c, &dst, &src, n)
}

// later submits an asynchronous copy to the stream passed as argument 1.
func (read sides) later(c call) result {
	s, r := streamAt(c, 1)
	if r != success {
		return r
	}
	dst, src, n, r := read(c)
	if r != success {
		return r
	}
	return copyLater(c, s, &dst, &src, n)
}

func cuMemcpy3DPeerAsync(c call) result {
	s, r := streamAt(c, 1)
	if r != success {
		return r
	}
	dst, src, n, r := sidesPeer(c)
	if r != success {
		return r
	}
	if s.cap != nil { // driver 580 cannot capture this copy
		return s.cap.invalidate(errUnsupported)
	}
	return copyLater(c, s, &dst, &src, n)
}

var copyBatch3DFunctions = functions{
	"cuMemcpy3DBatchAsync":    {cuMemcpy3DBatchAsyncV1, afterInit},
	"cuMemcpy3DBatchAsync_v2": {cuMemcpy3DBatchAsyncV2, afterInit},
}

// cuMemcpy3DBatchAsyncV1 also takes a pointer to which it writes the index of the copy that failed.
func cuMemcpy3DBatchAsyncV1(c call) result {
	failed := at[uintptr](c, 2)
	if failed != nil {
		*failed = ^uintptr(0)
	}
	return copyBatch3D(c, 3, failed)
}

func cuMemcpy3DBatchAsyncV2(c call) result { return copyBatch3D(c, 2, nil) }

// copyBatch3D takes (count, copies, …, flags, stream). Argument flagsArg holds the flags.
func copyBatch3D(c call, flagsArg int, failed *uintptr) result {
	ops := list[cu.CUDA_MEMCPY3D_BATCH_OP](c, 1, int(c.Word(0)))
	s, r := streamAt(c, flagsArg+1)
	switch {
	case r != success:
		return r
	case ops == nil || c.Uint64(flagsArg) != 0 || s.isLegacy():
		return errInvalidValue
	case s.cap != nil:
		return errNotSupported
	}
	pairs := make([]copyOp, len(ops))
	for i := range ops {
		op := &pairs[i]
		var r result
		if op.extent, r = transfer.OfBatch(c.e.arrayOf, &ops[i], &op.dst, &op.src); r == success {
			r = c.e.checkCopy(&op.dst, &op.src, op.extent)
		}
		if r != success {
			if failed != nil {
				*failed = uintptr(i)
			}
			return r
		}
	}
	for i := range pairs {
		enqueueCopy(s, &pairs[i].dst, &pairs[i].src, pairs[i].extent)
	}
	return success
}

// copyNode is a copy with the parameters of CUDA_MEMCPY3D. As in a driver, it refers to the
// program's memory for as long as the node exists.
type copyNode struct {
	copyOp
	ctx    *cudaContext
	params cu.CUDA_MEMCPY3D
	from   memoryClass // class of the source memory when the node was created
	to     memoryClass // class of the destination memory when the node was created
	made   *vm.Trace   // for CheckGraphPointers
}

// memoryClass is the kind of a copy's memory. An update of an executable graph cannot exchange
// memory of one class for memory of another. The classes were found with
// TestWhichMemoryAnUpdateCanExchange in graph/internal/verify/drivertest.
type memoryClass uint8

const (
	otherClass    memoryClass = iota // not tried on a GPU; assumed to be exchangeable for any memory
	allocated                        // by cuMemAlloc, cuMemAllocManaged or cuMemHostAlloc
	mappedOrAsync                    // by cuMemMap or cuMemAllocAsync
)

func (e *Emulator) classOf(p *transfer.Side) memoryClass {
	if p.Host != nil {
		return otherClass
	}
	r, _ := e.mem.Find(p.Addr)
	if r == nil {
		return otherClass
	}
	switch u := r.User.(type) {
	case *mapping:
		return mappedOrAsync
	case *allocation:
		return u.class()
	}
	return otherClass
}

func (a *allocation) class() memoryClass {
	switch a.kind {
	case deviceMemory, managedMemory, pageLocked:
		if !a.array {
			return allocated
		}
	case pooledMemory:
		return mappedOrAsync
	}
	return otherClass
}

// differs reports whether driver 580 refuses to exchange memory of class c for memory of class d.
func (c memoryClass) differs(d memoryClass) bool {
	return c != d && c != otherClass && d != otherClass
}

func (*copyNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_MEMCPY }

// newCopyNode checks CUDA's copy parameters and creates a copyNode from them.
func (e *Emulator) newCopyNode(p *cu.CUDA_MEMCPY3D, ctx *cudaContext) (*copyNode, result) {
	if p == nil {
		return nil, errInvalidValue
	}
	n := &copyNode{ctx: ctx, params: *p}
	if e.checks(CheckGraphPointers) {
		n.made = vm.Here()
	}
	var r result
	if n.extent, r = transfer.Of3D(e.arrayOf, &n.params, &n.dst, &n.src); r != success {
		return nil, r
	}
	if n.extent.Bytes() == 0 {
		return nil, errInvalidValue
	}
	e.pinned(&n.dst, n.extent)
	e.pinned(&n.src, n.extent)
	n.from, n.to = e.classOf(&n.src), e.classOf(&n.dst)
	return n, e.checkCopy(&n.dst, &n.src, n.extent)
}

func captureCopy(c call, s *stream, dst, src *transfer.Side, n transfer.Extent) result {
	p := cu.CUDA_MEMCPY3D{
		SrcXInBytes: uintptr(src.X), SrcY: uintptr(src.Y), SrcZ: uintptr(src.Z),
		SrcPitch: uintptr(src.Pitch), SrcHeight: uintptr(src.Height),
		DstXInBytes: uintptr(dst.X), DstY: uintptr(dst.Y), DstZ: uintptr(dst.Z),
		DstPitch: uintptr(dst.Pitch), DstHeight: uintptr(dst.Height),
		WidthInBytes: uintptr(n.Width), Height: uintptr(n.Height), Depth: uintptr(n.Depth),
	}
	p.SrcMemoryType, p.SrcHost, p.SrcDevice = c.e.sideOf(src)
	p.DstMemoryType, p.DstHost, p.DstDevice = c.e.sideOf(dst)
	if n.Bytes() == 0 {
		return s.capturable()
	}
	node, r := c.e.newCopyNode(&p, s.ctx)
	if r != success {
		return r
	}
	return s.record(node)
}

func (e *Emulator) sideOf(p *transfer.Side) (cu.CUmemorytype, unsafe.Pointer, cu.CUdeviceptr) {
	if p.Host != nil {
		return cu.CU_MEMORYTYPE_HOST, p.Host, 0
	}
	if a := e.allocationAt(p.Addr); a != nil && a.isHost() {
		b, err := e.mem.Bytes(p.Addr, 1)
		if err == nil {
			return cu.CU_MEMORYTYPE_HOST, unsafe.Pointer(&b[0]), 0
		}
	}
	return cu.CU_MEMORYTYPE_DEVICE, nil, cu.CUdeviceptr(p.Addr)
}

// contextFor returns the context for a copy or fill node whose parameters are argument i. The next
// argument is the context. If it is 0, the current context is used. cuGraph…NodeSetParams has no
// such argument and keeps the node's own context.
func contextFor(c call, i int, own func() *cudaContext) (*cudaContext, result) {
	if i == toNode {
		return own(), success
	}
	ctx := contextAt(c, i+1)
	return ctx, ctx.usable()
}

func readCopy(c call, i int, old *copyNode) (*copyNode, result) {
	ctx, r := contextFor(c, i, func() *cudaContext { return old.ctx })
	if r != success {
		return nil, r
	}
	n, r := c.e.newCopyNode(at[cu.CUDA_MEMCPY3D](c, i), ctx)
	if r == success && i == toStep && !(old.extent.Flat() && n.extent.Flat()) {
		return nil, errInvalidValue
	}
	return n, r
}
