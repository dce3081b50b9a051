package driver

import (
	"fmt"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// CopyOp is an operation that copies device or page-locked memory: linear memory, an array, or a 2D
// or 3D region of pitched memory.
type CopyOp struct {
	kind   copyKind
	ctx    *Context // where the copy runs
	other  *Context // the source's context, if different from ctx
	dst    CUdeviceptr
	src    CUdeviceptr
	host   unsafe.Pointer // page-locked host memory: outside Go's heap, or pinned
	bytes  uintptr
	params cu.CUDA_MEMCPY3D
	lives  [2]*life.Lifetime
	refs   [2]life.Ref
	uses   [2]Access
}

type copyKind uint8

const (
	copyUpload copyKind = iota
	copyDownload
	copyDevice
	copyPeer // between contexts
	copyRegion
)

var copyNames = [...]string{"upload", "download", "device copy", "peer copy", "copy"}

// Upload returns an operation that copies src to dst, which must have the same length. Do not
// change src until the copy has run.
func Upload[T any](dst MemoryOf[T], src HostMemoryOf[T]) (*CopyOp, error) {
	d, h, err := bothSpans(dst, src, "upload")
	if err != nil {
		return nil, err
	}
	o := &CopyOp{kind: copyUpload, ctx: d.a.ctx, dst: d.ptr, host: h.ptr, bytes: d.bytes}
	o.bind(d.end(Writes), h.end(Reads))
	return o, nil
}

// Download returns an operation that copies src to dst, which must have the same length. Once a
// wait for the stream returns, dst has the data.
func Download[T any](dst HostMemoryOf[T], src MemoryOf[T]) (*CopyOp, error) {
	d, h, err := bothSpans(src, dst, "download")
	if err != nil {
		return nil, err
	}
	o := &CopyOp{kind: copyDownload, ctx: d.a.ctx, src: d.ptr, host: h.ptr, bytes: d.bytes}
	o.bind(h.end(Writes), d.end(Reads))
	return o, nil
}

// CopyDevice returns an operation that copies src to dst, which must have the same length. src may
// belong to another context or device. Enqueue the copy in a stream of dst's context. src and dst
// must not overlap.
func CopyDevice[T any](dst, src MemoryOf[T]) (*CopyOp, error) {
	d, err := spanOfAll(dst)
	if err != nil {
		return nil, fmt.Errorf("device copy: destination: %w", err)
	}
	s, err := spanOfAll(src)
	if err != nil {
		return nil, fmt.Errorf("device copy: source: %w", err)
	}
	if err := sameSize[T]("device copy", d.bytes, s.bytes); err != nil {
		return nil, err
	}
	return newDeviceCopy(d, s)
}

func newDeviceCopy(d, s span) (*CopyOp, error) {
	if d.ptr < s.ptr+CUdeviceptr(s.bytes) && s.ptr < d.ptr+CUdeviceptr(d.bytes) {
		return nil, invalidf("device copy: %v and %v overlap", d, s)
	}
	o := &CopyOp{kind: copyDevice, ctx: d.a.ctx, dst: d.ptr, src: s.ptr, bytes: d.bytes}
	if !d.a.ctx.sameAs(s.a.ctx) {
		if err := d.a.ctx.sameDriver(s.a.ctx, s); err != nil {
			return nil, fmt.Errorf("device copy: %w", err)
		}
		o.kind, o.other = copyPeer, s.a.ctx
	}
	o.bind(d.end(Writes), s.end(Reads))
	return o, nil
}

func spanOfAll[T any](m MemoryOf[T]) (span, error) {
	if m == nil {
		return span{}, nilError("buffer")
	}
	return spanOf(m)
}

// bothSpans returns the device and host ranges of a copy. Both must have the same size.
func bothSpans[T any](dev MemoryOf[T], host HostMemoryOf[T], what string) (span, hostSpan, error) {
	d, err := spanOfAll(dev)
	if err != nil {
		return d, hostSpan{}, fmt.Errorf("%s: %w", what, err)
	}
	if host == nil {
		return d, hostSpan{}, fmt.Errorf("%s: %w", what, nilError("host buffer"))
	}
	h := host.hostSpan()
	if err := h.check(); err != nil {
		return d, h, fmt.Errorf("%s: %w", what, err)
	}
	if err := d.a.ctx.sameDriver(h.a.ctx, h); err != nil {
		return d, h, fmt.Errorf("%s: %w", what, err)
	}
	return d, h, sameSize[T](what, d.bytes, h.bytes)
}

func sameSize[T any](what string, a, b uintptr) error {
	if a == b {
		return nil
	}
	return invalidf("%s: one side has %d elements (%d bytes), the other %d (%d bytes); use a View of the part to copy",
		what, count[T](a), a, count[T](b), b)
}

type end struct {
	ref    life.Ref
	life   *life.Lifetime
	access Access
}

func (s span) end(mode AccessMode) end {
	return end{s.a, s.a.life, Access{Addr: uint64(s.ptr), Bytes: uint64(s.bytes), Mode: mode}}
}

func (s hostSpan) end(mode AccessMode) end {
	return end{s.a, s.a.life, Access{Addr: uint64(uintptr(s.ptr)), Bytes: uint64(s.bytes), Mode: mode, Host: true}}
}

func (o *CopyOp) bind(dst, src end) {
	dst.access.What, src.access.What = "destination", "source"
	src.access.Arg = 1
	o.lives = [2]*life.Lifetime{dst.life, src.life}
	o.refs = [2]life.Ref{dst.ref, src.ref}
	o.uses = [2]Access{dst.access, src.access}
	if o.kind != copyRegion {
		o.linear()
	}
}

// linear describes the copy as a region of one row, the form that graph nodes require.
func (o *CopyOp) linear() {
	p := &o.params
	p.WidthInBytes, p.Height, p.Depth = o.bytes, 1, 1
	p.SrcMemoryType, p.SrcDevice, p.SrcPitch = cu.CU_MEMORYTYPE_DEVICE, o.src, o.bytes
	p.DstMemoryType, p.DstDevice, p.DstPitch = cu.CU_MEMORYTYPE_DEVICE, o.dst, o.bytes
	p.SrcHeight, p.DstHeight = 1, 1
	switch o.kind {
	case copyUpload:
		p.SrcMemoryType, p.SrcHost = cu.CU_MEMORYTYPE_HOST, o.host
	case copyDownload:
		p.DstMemoryType, p.DstHost = cu.CU_MEMORYTYPE_HOST, o.host
	case copyPeer:
		// Unified addressing determines each address's device.
		p.SrcMemoryType, p.DstMemoryType = cu.CU_MEMORYTYPE_UNIFIED, cu.CU_MEMORYTYPE_UNIFIED
	}
}

// Enqueue implements [Op]. A copy of no bytes makes no driver call.
func (o *CopyOp) Enqueue(s *Stream) error {
	if o == nil || s == nil || s.ctx != o.ctx || s.life.Closed() {
		if err := o.refuse(s); err != nil {
			return err
		}
	}
	if o.lives[0].Closed() || o.lives[1].Closed() {
		return o.closedEnd()
	}
	if o.bytes == 0 {
		return nil
	}
	err := o.send(s)
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

func (o *CopyOp) send(s *Stream) error {
	switch o.kind {
	case copyUpload:
		return s.self.CuMemcpyHtoDAsync(o.dst, o.host, o.bytes, s.raw)
	case copyDownload:
		return s.self.CuMemcpyDtoHAsync(o.host, o.src, o.bytes, s.raw)
	case copyDevice:
		return s.self.CuMemcpyDtoDAsync(o.dst, o.src, o.bytes, s.raw)
	case copyPeer:
		return o.sendPeer(s)
	}
	return s.d.CuMemcpy3DAsync(&o.params, s.raw)
}

func (o *CopyOp) refuse(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "copy")
	}
	return checkStream(o, o.ctx, s)
}

func (o *CopyOp) closedEnd() error {
	for i, l := range o.lives {
		if err := l.Check(); err != nil {
			return fmt.Errorf("%v: %s: %w", o, o.uses[i].What, err)
		}
	}
	return nil
}

// Run copies on the legacy default stream and waits: see [View.CopyFrom].
func (o *CopyOp) Run() error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "copy")
	}
	return runNow(o)
}

func runNow(op Op) error {
	s := &op.Context().legacy
	if err := s.Do(op); err != nil {
		return err
	}
	err := s.d.CuStreamSynchronize(s.raw)
	if err == nil {
		err = s.ctx.legacyFaults()
	}
	runtime.KeepAlive(op)
	if err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	return nil
}

// Bytes returns the size of the copy. The driver rejects a graph node that copies no bytes: omit
// the node or add an empty one.
func (o *CopyOp) Bytes() uintptr {
	if o == nil {
		return 0
	}
	return o.bytes
}

// Context returns the context in which the copy runs.
func (o *CopyOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Uses returns the copy's memory, and how the copy accesses it.
func (o *CopyOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: o.refs[:], Accesses: o.uses[:], Node: &o.params}
}

// String describes the operation.
func (o *CopyOp) String() string {
	if o == nil {
		return "nil copy"
	}
	return fmt.Sprintf("%s of %d bytes", copyNames[o.kind], o.bytes)
}

// sendPeer copies between contexts. In a capture, cuMemcpyPeerAsync fails (error 900, seen on
// driver 580). A captured copy therefore names no contexts. With unified addressing, the driver
// determines them from the addresses.
func (o *CopyOp) sendPeer(s *Stream) error {
	capturing, err := s.recording()
	if err != nil {
		return err
	}
	if capturing {
		return s.self.CuMemcpyAsync(o.dst, o.src, o.bytes, s.raw)
	}
	return s.d.CuMemcpyPeerAsync(o.dst, o.ctx.Raw(), o.src, o.other.Raw(), o.bytes, s.raw)
}

// Region is the source or destination of a 2D or 3D copy: a box in memory. Only Memory and Pitch
// are required. An [Array] ignores Pitch and Rows.
type Region struct {
	Memory Memory
	Pitch  uintptr // bytes from one row to the next
	Rows   uintptr // rows from one layer to the next; if 0, Y plus the number of rows in the box

	X        uintptr // bytes before the box within each row
	Y, Layer uintptr // rows and layers before the box
}

// Copy2D returns an operation that copies height rows of width bytes.
func Copy2D(dst, src Region, width, height uintptr) (*CopyOp, error) {
	return newRegionCopy("2D copy", dst, src, width, height, 1)
}

// Copy3D returns an operation that copies depth × height rows of width bytes.
func Copy3D(dst, src Region, width, height, depth uintptr) (*CopyOp, error) {
	return newRegionCopy("3D copy", dst, src, width, height, depth)
}

func newRegionCopy(what string, dst, src Region, width, height, depth uintptr) (*CopyOp, error) {
	o := &CopyOp{kind: copyRegion}
	d, err := dst.open(width, height, depth, Writes)
	if err != nil {
		return nil, fmt.Errorf("%s: destination: %w", what, err)
	}
	s, err := src.open(width, height, depth, Reads)
	if err != nil {
		return nil, fmt.Errorf("%s: source: %w", what, err)
	}
	if err := d.ctx.sameDriver(s.ctx, s); err != nil {
		return nil, fmt.Errorf("%s: source: %w", what, err)
	}
	if o.bytes, err = product(width, height, depth); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	o.ctx = d.ctx
	if d.kind == cu.CU_MEMORYTYPE_HOST && s.kind != cu.CU_MEMORYTYPE_HOST {
		o.ctx = s.ctx // a device-to-host copy runs in the device memory's context
	}
	p := &o.params
	p.WidthInBytes, p.Height, p.Depth = width, height, depth
	p.DstArray, p.SrcArray = d.array, s.array
	p.DstMemoryType, p.DstDevice, p.DstHost, p.DstPitch, p.DstHeight = d.kind, d.dev, d.host, d.pitch, d.rows
	p.DstXInBytes, p.DstY, p.DstZ = dst.X, dst.Y, dst.Layer
	p.SrcMemoryType, p.SrcDevice, p.SrcHost, p.SrcPitch, p.SrcHeight = s.kind, s.dev, s.host, s.pitch, s.rows
	p.SrcXInBytes, p.SrcY, p.SrcZ = src.X, src.Y, src.Layer
	if d.kind == cu.CU_MEMORYTYPE_DEVICE && s.kind == cu.CU_MEMORYTYPE_DEVICE && !d.ctx.sameAs(s.ctx) {
		p.DstMemoryType, p.SrcMemoryType = cu.CU_MEMORYTYPE_UNIFIED, cu.CU_MEMORYTYPE_UNIFIED
	}
	o.bind(d.end, s.end)
	return o, nil
}

type place struct {
	end
	kind  cu.CUmemorytype
	ctx   *Context
	dev   CUdeviceptr
	host  unsafe.Pointer
	array cu.CUarray
	pitch uintptr
	rows  uintptr
}

func (p place) String() string {
	return fmt.Sprintf("memory %#x (%d bytes)", p.access.Addr, p.access.Bytes)
}

// open locates the region's memory and checks that the box lies within it.
func (r *Region) open(width, height, depth uintptr, mode AccessMode) (place, error) {
	p := place{pitch: r.Pitch, rows: r.Rows}
	for _, n := range []uintptr{r.Pitch, r.Rows, r.X, r.Y, r.Layer, width, height, depth} {
		if n > elem.MaxBytes/2 { // so that adding two of these values cannot overflow
			return p, invalidf("%d bytes, rows or layers do not fit the address space", n)
		}
	}
	if a, ok := r.Memory.(*Array); ok {
		return a.open(r, width, height, depth, mode)
	}
	if p.rows == 0 {
		p.rows = r.Y + height
	}
	size, err := p.locate(r.Memory, mode)
	if err != nil {
		return p, err
	}
	if err := r.fits(size, p.rows, width, height, depth); err != nil {
		return p, err
	}
	p.access.Addr += uint64(((r.Layer*p.rows)+r.Y)*r.Pitch + r.X)
	p.access.SetRows(width, r.Pitch, height, p.rows*r.Pitch, depth)
	return p, nil
}

func (p *place) locate(m Memory, mode AccessMode) (size uintptr, err error) {
	if d, ok := m.(Declared); ok {
		m = d.mem
	}
	if h, ok := m.(hostMemory); ok {
		s := h.hostSpan()
		if err := s.check(); err != nil {
			return 0, err
		}
		p.kind, p.ctx, p.host, p.end = cu.CU_MEMORYTYPE_HOST, s.a.ctx, s.ptr, s.end(mode)
		return s.bytes, nil
	}
	if m == nil {
		return 0, nilError("memory")
	}
	s, err := spanOf(m)
	if err != nil {
		return 0, err
	}
	p.kind, p.ctx, p.dev, p.end = cu.CU_MEMORYTYPE_DEVICE, s.a.ctx, s.ptr, s.end(mode)
	return s.bytes, nil
}

// fits returns an error if the box exceeds the pitch, a layer or the memory.
func (r *Region) fits(size, rows, width, height, depth uintptr) error {
	if width == 0 || height == 0 || depth == 0 {
		return nil
	}
	if r.X+width > r.Pitch {
		return invalidf("a row of %d bytes at byte %d does not fit the pitch of %d bytes", width, r.X, r.Pitch)
	}
	if depth > 1 && r.Y+height > rows {
		return invalidf("%d rows at row %d do not fit a layer of %d rows", height, r.Y, rows)
	}
	lastRow, err := product(r.Layer+depth-1, rows, 1)
	if err != nil {
		return err
	}
	lastRow += r.Y + height - 1 // at most 2 × elem.MaxBytes: no overflow
	before, err := product(lastRow, r.Pitch, 1)
	if err != nil {
		return err
	}
	if need := before + r.X + width; need > size || need < before {
		return invalidf("the box of %d × %d × %d ends at byte %d, but the memory has %d bytes", width, height, depth, need, size)
	}
	return nil
}

func product(a, b, c uintptr) (uintptr, error) {
	hi, ab := bits.Mul64(uint64(a), uint64(b))
	hi2, abc := bits.Mul64(ab, uint64(c))
	if hi != 0 || hi2 != 0 || abc > uint64(elem.MaxBytes) {
		return 0, invalidf("%d × %d × %d bytes do not fit the address space", a, b, c)
	}
	return uintptr(abc), nil
}
