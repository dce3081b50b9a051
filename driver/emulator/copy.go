package emulator

import (
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// place is one side of a copy: memory with a pitch and a height, and an origin in it. Exactly one
// of host, bytes and addr identifies the memory.
type place struct {
	host  unsafe.Pointer // the user's own memory, not page-locked
	bytes []byte         // memory of the driver: what was staged at the call
	addr  uint64         // device memory, or page-locked memory at its address

	pitch, height uint64 // bytes of a row, rows of a slice
	x, y, z       uint64 // origin: bytes, rows, slices
}

// extent is the size of a copy.
type extent struct{ width, height, depth uint64 }

func (n extent) bytes() uint64 { return n.width * n.height * n.depth }

// dense reports whether the extent is contiguous memory in p.
func (n extent) dense(p *place) bool {
	return (n.height <= 1 || p.pitch == n.width) && (n.depth <= 1 || p.pitch*p.height == n.width*n.height)
}

// offset returns where row y of slice z of the extent begins.
func (p *place) offset(y, z uint64) uint64 {
	return (p.z+z)*p.pitch*p.height + (p.y+y)*p.pitch + p.x
}

// span returns how far the extent reaches from the base of the place.
func (p *place) span(n extent) uint64 { return p.offset(n.height-1, n.depth-1) + n.width }

// row returns n bytes at an offset.
func (p *place) row(mem *vm.Memory, off, n uint64) ([]byte, bool) {
	switch {
	case p.host != nil:
		return unsafe.Slice((*byte)(unsafe.Add(p.host, off)), n), true
	case p.bytes != nil:
		return p.bytes[off : off+n], true
	}
	b, err := mem.Bytes(p.addr+off, n)
	return b, err == nil
}

// valid reports whether the memory exists, or will exist when a graph runs.
func (p *place) valid(e *Emulator, n extent) bool {
	if p.host != nil || p.bytes != nil {
		return true
	}
	first := p.offset(0, 0)
	return e.known(p.addr+first, p.span(n)-first)
}

// copyMemory copies between two places. It does not keep the places or pass them on, so they may be
// on the caller's stack.
func copyMemory(mem *vm.Memory, dst, src *place, n extent) bool {
	if n.bytes() == 0 {
		return true
	}
	if n.dense(dst) && n.dense(src) {
		n = extent{n.bytes(), 1, 1}
	}
	for z := range n.depth {
		for y := range n.height {
			d, okDst := dst.row(mem, dst.offset(y, z), n.width)
			s, okSrc := src.row(mem, src.offset(y, z), n.width)
			switch {
			case okDst && okSrc:
				copy(d, s)
			case !copyPieces(mem, dst, src, dst.offset(y, z), src.offset(y, z), n.width):
				return false
			}
		}
	}
	return true
}

// copyPieces copies a row that is spread over several mappings on at least one side.
func copyPieces(mem *vm.Memory, dst, src *place, to, from, n uint64) bool {
	row, ok := src.row(mem, from, n)
	if !ok {
		row = make([]byte, n)
		if mem.Read(row, src.addr+from) != nil {
			return false
		}
	}
	if d, ok := dst.row(mem, to, n); ok {
		copy(d, row)
		return true
	}
	return mem.Write(dst.addr+to, row) == nil
}

// copyOp is an asynchronous copy, in a stream or as a node.
type copyOp struct {
	dst, src place
	extent   extent
	flights  []*flight // for CheckHostMemory
}

func (op *copyOp) run(x *execution) result {
	way := x.e.direction(&op.dst, &op.src)
	x.e.stats.copied(op.extent.bytes(), way)
	x.spend(func(m *CostModel) time.Duration { return m.copy(op.extent.bytes(), way) })
	if !op.move(x.e) {
		return x.reportCopyFault(op)
	}
	x.e.copied(x.order, &op.dst, &op.src, op.extent)
	return success
}

// stage copies the contents of a place into memory of the driver.
func (p *place) stage(n extent) {
	if n.bytes() == 0 {
		return
	}
	b := make([]byte, n.bytes())
	staged := place{bytes: b, pitch: n.width, height: n.height}
	copyMemory(nil, &staged, p, n)
	*p = staged
}

// pinned replaces a host pointer by an address if the driver knows the memory. The copy then looks
// the memory up when it runs.
func (e *Emulator) pinned(p *place, n extent) {
	if p.host == nil {
		return
	}
	addr := uint64(uintptr(p.host))
	probe := place{addr: addr, pitch: p.pitch, height: p.height, x: p.x, y: p.y, z: p.z}
	if e.allocationAt(addr) != nil && probe.valid(e, n) {
		*p = probe
	}
}

// checkCopy rejects a copy that reaches outside its memory.
func (e *Emulator) checkCopy(dst, src *place, n extent) result {
	if n.bytes() == 0 {
		return success
	}
	if dst.addr|src.addr == 0 && dst.host == nil && src.host == nil {
		return errInvalidValue
	}
	if !dst.valid(e, n) || !src.valid(e, n) || e.releasing(dst) || e.releasing(src) {
		return errInvalidValue
	}
	return success
}

// releasing reports whether a free of the memory has already been submitted.
func (e *Emulator) releasing(p *place) bool {
	if p.host != nil || p.bytes != nil {
		return false
	}
	a := e.allocationAt(p.addr + p.offset(0, 0))
	return a != nil && a.releasing
}

// copyNow is a synchronous copy. It waits for the legacy stream and copies on the calling
// goroutine, because the host's side may be on the caller's stack.
func copyNow(c call, dst, src *place, n extent) result {
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
func (e *Emulator) copyHere(ctx *cudaContext, dst, src *place, n extent) result {
	way := e.direction(dst, src)
	e.stats.copied(n.bytes(), way)
	if m := e.cfg.CostModel; m != nil {
		e.hostTime += m.Submit + m.copy(n.bytes(), way)
	}
	order := e.hostOrder()
	e.unlock()
	ok := copyMemory(e.mem, dst, src, n)
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
func copyLater(c call, s *stream, dst, src *place, n extent) result {
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
	if n.bytes() == 0 {
		return success
	}
	if dst.host != nil {
		s.wait()
		if s.ctx.dev.fault != success {
			return s.ctx.dev.fault
		}
		return e.copyHere(s.ctx, dst, src, n)
	}
	if src.host != nil {
		src.stage(n)
	}
	enqueueCopy(s, dst, src, n)
	return success
}

// enqueueCopy enqueues a copy without a pageable side.
func enqueueCopy(s *stream, dst, src *place, n extent) {
	op := &copyOp{extent: n}
	op.dst = place{bytes: dst.bytes, addr: dst.addr, pitch: dst.pitch, height: dst.height, x: dst.x, y: dst.y, z: dst.z}
	op.src = place{bytes: src.bytes, addr: src.addr, pitch: src.pitch, height: src.height, x: src.x, y: src.y, z: src.z}
	s.enqueue(op)
}
