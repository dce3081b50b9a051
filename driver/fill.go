package driver

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// FillOp is an operation that sets memory to a value of 1, 2 or 4 bytes.
type FillOp struct {
	ctx    *Context
	params cu.CUDA_MEMSET_NODE_PARAMS
	life   *life.Lifetime
	refs   [1]life.Ref
	uses   [1]Access
}

// Fill returns an operation that sets every element of dst to v. The driver fills memory with a
// unit of 1, 2 or 4 bytes, so a larger v must consist of one repeated unit, as 0 does. For other
// values, use [View.Fill].
func Fill[T any](dst MemoryOf[T], v T) (*FillOp, error) {
	s, unit, value, err := newFill(dst, v)
	if err != nil {
		return nil, err
	}
	return s.fill(unit, value, s.bytes, s.bytes/uintptr(unit), 1), nil
}

// Fill2D returns an operation that sets height rows of width elements, each pitch elements after
// the last.
func Fill2D[T any](dst MemoryOf[T], v T, pitch, width, height int) (*FillOp, error) {
	s, unit, value, err := newFill(dst, v)
	if err != nil {
		return nil, err
	}
	size := elem.Size[T]()
	if width < 0 || height < 0 || pitch < width {
		return nil, invalidf("2D fill: %d rows of %d elements with a pitch of %d", height, width, pitch)
	}
	if width > 0 && height > 0 && !rowsFit(uintptr(pitch), uintptr(width), uintptr(height), uintptr(count[T](s.bytes))) {
		return nil, invalidf("2D fill: %d rows of %d elements with a pitch of %d do not fit %v", height, width, pitch, dst)
	}
	return s.fill(unit, value, uintptr(pitch)*size, uintptr(width)*size/uintptr(unit), uintptr(height)), nil
}

// rowsFit reports whether the last of height rows ends within size. It takes pitch, width and size
// in elements.
func rowsFit(pitch, width, height, size uintptr) bool {
	before, err := product(height-1, pitch, 1)
	return err == nil && before <= size && width <= size-before
}

func newFill[T any](dst MemoryOf[T], v T) (s span, unit, value uint32, err error) {
	if s, err = spanOfAll(dst); err != nil {
		return s, 0, 0, fmt.Errorf("fill: %w", err)
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), elem.Size[T]())
	unit, value, ok := repeating(raw)
	if !ok {
		return s, 0, 0, invalidf("fill: the %d bytes of the %s do not repeat every 1, 2 or 4 bytes, which a single fill needs; use Buffer.Fill or a kernel",
			len(raw), elemName[T]())
	}
	return s, unit, value, nil
}

// repeating reports whether v consists of one repeated unit of 4, 2 or 1 bytes. v must not be
// empty. It returns the size of the largest such unit, and the unit's bytes in the low bytes of
// value.
func repeating(v []byte) (unit, value uint32, ok bool) {
	for _, n := range []int{4, 2, 1} {
		if len(v)%n == 0 && bytes.Equal(v[n:], v[:len(v)-n]) {
			var word [4]byte
			copy(word[:], v[:n])
			return uint32(n), binary.NativeEndian.Uint32(word[:]), true
		}
	}
	return 0, 0, false
}

func (s span) fill(unit, value uint32, pitch, width, height uintptr) *FillOp {
	o := &FillOp{ctx: s.a.ctx, life: s.a.life, refs: [1]life.Ref{s.a}}
	o.params = cu.CUDA_MEMSET_NODE_PARAMS{
		Dst: s.ptr, Pitch: pitch, Value: value, ElementSize: unit, Width: width, Height: height,
	}
	o.uses[0] = Access{Addr: uint64(s.ptr), Mode: Writes, What: "destination"}
	if width > 0 && height > 0 {
		o.uses[0].SetRows(width*uintptr(unit), pitch, height, 0, 1)
	}
	return o
}

// Enqueue implements [Op]. A fill of no bytes makes no driver call.
func (o *FillOp) Enqueue(s *Stream) error {
	if o == nil || s == nil || s.ctx != o.ctx || s.life.Closed() {
		if err := o.refuse(s); err != nil {
			return err
		}
	}
	if o.life.Closed() {
		return fmt.Errorf("%v: %w", o, o.life.Check())
	}
	if o.Bytes() == 0 {
		return nil
	}
	err := o.send(s.self, s.raw)
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

func (o *FillOp) send(d *Driver, s CUstream) error {
	p := &o.params
	if p.Height > 1 {
		return o.send2D(d, s)
	}
	switch p.ElementSize {
	case 4:
		return d.CuMemsetD32Async(p.Dst, p.Value, p.Width, s)
	case 2:
		return d.CuMemsetD16Async(p.Dst, uint16(p.Value), p.Width, s)
	}
	return d.CuMemsetD8Async(p.Dst, byte(p.Value), p.Width, s)
}

func (o *FillOp) send2D(d *Driver, s CUstream) error {
	p := &o.params
	switch p.ElementSize {
	case 4:
		return d.CuMemsetD2D32Async(p.Dst, p.Pitch, p.Value, p.Width, p.Height, s)
	case 2:
		return d.CuMemsetD2D16Async(p.Dst, p.Pitch, uint16(p.Value), p.Width, p.Height, s)
	}
	return d.CuMemsetD2D8Async(p.Dst, p.Pitch, byte(p.Value), p.Width, p.Height, s)
}

func (o *FillOp) refuse(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "fill")
	}
	return checkStream(o, o.ctx, s)
}

// fillNow fills memory with a value of any size, in the legacy stream. If the value repeats a
// unit, one fill suffices. Otherwise, each part of 4, 2 or 1 bytes of the value takes a 2D fill.
func fillNow(d *Driver, s span, v []byte) error {
	if unit, value, ok := repeating(v); ok {
		return s.fill(unit, value, s.bytes, s.bytes/uintptr(unit), 1).send(d, 0)
	}
	unit := columnUnit(len(v))
	n := s.bytes / uintptr(len(v))
	for at := 0; at < len(v); at += unit {
		_, value, _ := repeating(v[at : at+unit])
		column := span{s.a, s.ptr + CUdeviceptr(at), s.bytes}
		if err := column.fill(uint32(unit), value, uintptr(len(v)), 1, n).send2D(d, 0); err != nil {
			return err
		}
	}
	return nil
}

func columnUnit(size int) int {
	switch {
	case size%4 == 0:
		return 4
	case size%2 == 0:
		return 2
	}
	return 1
}

// Bytes returns the number of bytes set. In a graph node, it must not be 0.
func (o *FillOp) Bytes() uintptr {
	if o == nil {
		return 0
	}
	return o.params.Width * o.params.Height * uintptr(o.params.ElementSize)
}

// Run fills on the legacy default stream and waits.
func (o *FillOp) Run() error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "fill")
	}
	return runNow(o)
}

// Context returns the context in which the fill runs.
func (o *FillOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Uses returns the memory that the fill writes.
func (o *FillOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: o.refs[:], Accesses: o.uses[:], Node: &o.params}
}

// String describes the operation.
func (o *FillOp) String() string {
	if o == nil {
		return "nil fill"
	}
	return fmt.Sprintf("fill of %d bytes", o.Bytes())
}
