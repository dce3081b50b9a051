package emulator

import (
	"time"

	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

// reachable reports whether the memory of one side exists, or will exist when a graph runs.
func (e *Emulator) reachable(p *transfer.Side, n transfer.Extent) bool {
	if p.Host != nil || p.Staged != nil {
		return true
	}
	first := p.Offset(0, 0)
	return e.known(p.Addr+first, p.Span(n)-first)
}

// copyOp is an asynchronous copy, in a stream or as a node.
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

// pinned replaces a host pointer by an address if the driver knows the memory. The copy then looks
// the memory up when it runs.
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

// checkCopy rejects a copy that reaches outside its memory.
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

// releasing reports whether a free of the memory has already been submitted.
func (e *Emulator) releasing(p *transfer.Side) bool {
	if p.Host != nil || p.Staged != nil {
		return false
	}
	a := e.allocationAt(p.Addr + p.Offset(0, 0))
	return a != nil && a.releasing
}

// copyNow is a synchronous copy. It waits for the legacy stream and copies on the calling
// goroutine, because the host's side may be on the caller's stack.
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

// copyHere copies on the calling goroutine.
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
		order.memo = nil
	}
	e.mu.Lock()
	if !ok {
		ctx.dev.fault = errIllegalAddress
	}
	return ctx.dev.fault
}

// copyLater is an asynchronous copy. Like a driver, it reads pageable source memory during the
// call, and returns only when pageable destination memory has been written. Only places without
// pageable memory reach the queue.
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

// enqueueCopy enqueues a copy without a pageable side.
func enqueueCopy(s *stream, dst, src *transfer.Side, n transfer.Extent) {
	op := &copyOp{extent: n}
	op.dst = transfer.Side{Staged: dst.Staged, Addr: dst.Addr, Pitch: dst.Pitch, Height: dst.Height, X: dst.X, Y: dst.Y, Z: dst.Z}
	op.src = transfer.Side{Staged: src.Staged, Addr: src.Addr, Pitch: src.Pitch, Height: src.Height, X: src.X, Y: src.Y, Z: src.Z}
	s.enqueue(op)
}
