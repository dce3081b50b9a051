package driver

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// ordered holds the lifetime of a stream-ordered allocation and the data that its destructor uses.
// It is a separate object because a destructor must not refer to the allocation that it cleans up.
type ordered struct {
	life   life.Lifetime
	mu     sync.Mutex
	ptr    CUdeviceptr
	d      *Driver // the driver that frees the memory; if nil, the context's driver
	stream CUstream
	hold   *life.Lifetime // retained by FreeAsync and released by Destroy; may be nil
	graph  bool           // allocated by a graph node; the graph owns the memory

	live      bool // graph memory that is still allocated after a launch
	elsewhere bool // graph memory that an untracked capture will free
}

// Destroy frees the memory in stream order. It frees graph memory only if the memory is still
// allocated after a launch.
func (o *ordered) Destroy(d *cu.Driver) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hold != nil {
		defer o.hold.Done()
	}
	if o.ptr == 0 {
		return nil
	}
	if o.graph {
		return o.freeLeft(d)
	}
	if o.d != nil {
		d = &o.d.Driver
	}
	return d.CuMemFreeAsync(o.ptr, o.stream)
}

// freeOn makes Destroy free the memory in stream order on s. The caller must have retained s.
// Destroy releases s.
func (o *ordered) freeOn(s *Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.d, o.stream, o.hold = s.guardedSelf(), s.raw, s.life
}

// freeNow frees the memory in stream order on s. The caller must hold the only reference.
func (o *ordered) freeNow(s *Stream) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ptr == 0 {
		return nil
	}
	err := s.guardedSelf().CuMemFreeAsync(o.ptr, s.raw)
	if err == nil {
		o.ptr = 0 // Destroy must not free the memory again
	}
	return err
}

// freeOn closes stream-ordered memory and frees it in stream order on s. While other references
// exist, the memory retains s. Releasing the last reference frees the memory. If the driver rejects
// the free, the memory is still allocated, so freeOn reopens the buffer and the caller can try
// again.
func (a *allocation) freeOn(s *Stream) error {
	if err := s.ctx.sameDriver(a.ctx, a.life); err != nil {
		return s.named(err)
	}
	if a.order.isGraph() {
		return a.closeGraphMemory(s)
	}
	if err := s.life.Retain(); err != nil {
		return err
	}
	if !a.watch.Disown(a.life) { // another call closed the allocation first
		s.life.Done()
		return a.life.Check()
	}
	if !a.life.TakeLast() {
		a.order.freeOn(s)
		return a.life.Release()
	}
	err := a.order.freeNow(s)
	s.life.Done()
	if err != nil {
		a.watch.Reopen(a.life)
		return fmt.Errorf("%v: cannot free %v, which stays open: %w", s, a.life, err)
	}
	return a.life.Finish()
}

// AllocAsync allocates device memory for n elements, stream-ordered on s. Later work in s may use
// the memory. Work in other streams must be ordered after the allocation. The memory comes from the
// device's current pool (see [MemPool.SetReleaseThreshold]). On a device without pools
// (Properties.MemoryPools) the error is CUDA_ERROR_NOT_SUPPORTED. Close and FreeAsync free the
// memory in stream order. So does the library if the buffer becomes unreachable. Other streams must
// have used it by then.
//
// In a capture, the allocation becomes a graph node and the graph owns the memory, so Close does
// not free it. During the capture, FreeAsync records a free node. Afterwards, it frees what a
// launch left allocated.
func AllocAsync[T any](s *Stream, n int) (*Buffer[T], error) {
	return AllocFromPool[T](s, nil, n)
}

// AllocFromPool is like [AllocAsync], but allocates from the given pool. If pool is nil, it uses
// the device's current pool.
func AllocFromPool[T any](s *Stream, pool *MemPool, n int) (*Buffer[T], error) {
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return nil, err
	}
	b := new(owned[T])
	if err := b.a.allocateAsync(s, pool, reflect.TypeFor[T](), bytes); err != nil {
		return nil, err
	}
	return b.set(), nil
}

// Close closes the buffer. It is for package graph, which only has the buffer's Ref.
func (a *allocation) Close() error { return a.watch.Close(a.life) }

func (a *allocation) allocateAsync(s *Stream, pool *MemPool, elem reflect.Type, bytes uintptr) error {
	if err := s.ready(); err != nil {
		return cannotMake(elem, err)
	}
	graph, err := s.recording()
	if err != nil {
		return cannotMake(elem, err)
	}
	o := newOrdered(elem)
	if err := o.life.BeginIn(s.life); err != nil {
		return err
	}
	o.graph = graph
	if bytes > 0 {
		err = pool.alloc(s, &o.ptr, bytes)
	}
	if err != nil {
		return o.life.Abandon(fmt.Errorf("%d bytes: %w", bytes, err))
	}
	if pool != nil {
		a.owner = pool
	}
	a.begin(s, o, bytes)
	return nil
}

func newOrdered(elem reflect.Type) *ordered {
	o := new(ordered)
	o.life.SetElem("buffer", elem)
	return o
}

func cannotMake(elem reflect.Type, err error) error {
	return fmt.Errorf("cannot make a buffer of %v: %w", elem, err)
}

// begin initialises the allocation from o. The lifetime of o must have begun.
func (a *allocation) begin(s *Stream, o *ordered, bytes uintptr) {
	o.d, o.stream = s.guardedSelf(), s.raw
	a.life, a.ctx, a.ptr, a.bytes, a.order = &o.life, s.ctx, o.ptr, bytes, o
	a.watch.Own(a.life, uint64(a.ptr), o)
	runtime.KeepAlive(s)
}

// alloc allocates from the pool, or from the device's current pool if p is nil.
func (p *MemPool) alloc(s *Stream, ptr *CUdeviceptr, bytes uintptr) error {
	if p == nil {
		return s.self.CuMemAllocAsync(ptr, bytes, s.raw)
	}
	if err := p.check(); err != nil {
		return err
	}
	if err := s.ctx.sameDriver(p.ctx, p); err != nil {
		return err
	}
	err := s.d.CuMemAllocFromPoolAsync(ptr, bytes, p.raw, s.raw)
	runtime.KeepAlive(p)
	return err
}

// recording reports whether the stream is capturing. The query needs no guard because it cannot
// invalidate a capture (TestQueriesOfCapturesDisturbNone).
func (s *Stream) recording() (bool, error) {
	var status cu.CUstreamCaptureStatus
	err := s.self.CuStreamIsCapturing(s.raw, &status)
	return status != cu.CU_STREAM_CAPTURE_STATUS_NONE, err
}

var errNotOrdered = errors.New("it is not stream-ordered memory; use Close")

// FreeAsync closes the buffer and frees its memory after all work already in s. The buffer must
// come from [AllocAsync] or [AllocFromPool]. A capturing stream can free only memory that the same
// capture or another graph allocated. On error the buffer stays open and keeps its memory.
func (b *Buffer[T]) FreeAsync(s *Stream) error {
	if err := s.ready(); err != nil {
		return err
	}
	m, err := spanOf(b)
	if err != nil {
		return err
	}
	if m.a.order == nil {
		return fmt.Errorf("%v: %w", b, errNotOrdered)
	}
	err = m.a.freeOn(s)
	runtime.KeepAlive(b)
	return err
}

// AllocAsyncInto is like AllocAsync, but reuses the caller's Buffer: a zero Buffer at first, and
// later a closed one. It rejects an open Buffer. If the pool keeps freed memory
// ([MemPool.SetReleaseThreshold]) and the same stream repeatedly allocates and frees the same size,
// the address stays the same and nothing is allocated on Go's heap. If address and size are
// unchanged, views and prepared launches of the previous allocation work again. Otherwise, they
// return an error which says that the buffer is closed. Only one goroutine at a time may use b.
func AllocAsyncInto[T any](s *Stream, b *Buffer[T], n int) error {
	if b == nil {
		return invalidf("the buffer to allocate into is nil; it can be a zero Buffer")
	}
	a := b.mem.a
	if a != nil && !a.life.Closed() {
		return invalidf("the buffer to allocate into is open: %v", b)
	}
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return err
	}
	if a == nil || !a.fits(s, bytes) {
		return allocAnew(s, b, n)
	}
	if err := s.ready(); err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	capturing, err := s.recording()
	if err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	if capturing {
		return allocAnew(s, b, n)
	}
	var ptr CUdeviceptr
	if err := (*MemPool)(nil).alloc(s, &ptr, bytes); err != nil {
		return cannotMake(reflect.TypeFor[T](), err)
	}
	if ptr == a.ptr {
		return a.reopen(s)
	}
	made := new(owned[T])
	if err := made.a.adopt(s, reflect.TypeFor[T](), ptr, bytes); err != nil {
		return err
	}
	*b = *made.set()
	return nil
}

func allocAnew[T any](s *Stream, b *Buffer[T], n int) error {
	made, err := AllocAsync[T](s, n)
	if err == nil {
		*b = *made
	}
	return err
}

// fits reports whether AllocAsyncInto can reuse the allocation. The allocation must be closed,
// belong to s and have the given size.
func (a *allocation) fits(s *Stream, bytes uintptr) bool {
	o := a.order
	return o != nil && !o.graph && a.owner == nil && bytes > 0 && a.bytes == bytes &&
		s.open() && a.ctx == s.ctx && o.life.Parent() == s.life && a.life.Ended()
}

// reopen reopens a closed allocation for new memory at the same address. On error it frees the new
// memory.
func (a *allocation) reopen(s *Stream) error {
	o := a.order
	if err := a.life.BeginIn(s.life); err != nil {
		return errors.Join(err, s.guardedSelf().CuMemFreeAsync(a.ptr, s.raw))
	}
	o.mu.Lock()
	o.d, o.stream, o.hold = s.guardedSelf(), s.raw, nil
	o.mu.Unlock()
	a.watch.Stay()
	a.watch.Own(a.life, uint64(a.ptr), o)
	runtime.KeepAlive(s)
	return nil
}

// adopt initialises the allocation for memory that was just allocated in s. On error it frees the
// memory.
func (a *allocation) adopt(s *Stream, elem reflect.Type, ptr CUdeviceptr, bytes uintptr) error {
	o := newOrdered(elem)
	if err := o.life.BeginIn(s.life); err != nil {
		return errors.Join(err, s.guardedSelf().CuMemFreeAsync(ptr, s.raw))
	}
	o.ptr = ptr
	a.begin(s, o, bytes)
	return nil
}

// BufferAt creates a Buffer of n elements at ptr, in memory that an allocator owns. When the last
// reference to the closed or unreachable buffer is released, end runs instead of a free. The buffer
// owns l, which no other object may use. end must not refer to the buffer, but may contain l.
func BufferAt[T any](c *Context, l *life.Lifetime, ptr CUdeviceptr, n int, end life.Destroyer) (*Buffer[T], error) {
	if l == nil {
		return nil, fmt.Errorf("cannot make a buffer at %#x: %w", uint64(ptr), absentError(true, "lifetime"))
	}
	if c == nil || c.core == nil {
		return nil, l.Abandon(absentError(c == nil, "context"))
	}
	bytes, err := bufferBytes[T](n)
	if err != nil {
		return nil, l.Abandon(err)
	}
	if ptr == 0 && bytes > 0 {
		return nil, l.Abandon(fmt.Errorf("buffer of %s at no address: %w", elemName[T](), CUDA_ERROR_INVALID_VALUE))
	}
	b := new(owned[T])
	b.a.life, b.a.ctx, b.a.ptr, b.a.bytes = l, c, ptr, bytes
	b.a.watch.Own(l, uint64(ptr), end)
	return b.set(), nil
}

// Reopen implements life.Reopener. Existing views and launches work again because the memory has
// not changed.
func (a *allocation) Reopen(parent *life.Lifetime) error {
	if err := a.life.BeginIn(parent); err != nil {
		return err
	}
	a.watch.Stay()
	a.watch.Own(a.life, a.life.Handle(), a.life.End())
	return nil
}

// AllocOp is an allocation for graphs. To allocate in a stream, use AllocIn.
type AllocOp[T any] struct {
	ctx    *Context
	pool   *MemPool
	n      int
	refs   []life.Ref
	params cu.CUDA_MEM_ALLOC_NODE_PARAMS
}

// NewAlloc returns an operation that allocates n elements: see [AllocFromPool].
func NewAlloc[T any](c *Context, pool *MemPool, n int) (*AllocOp[T], error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	_, bytes, err := newBuffer[T](n)
	if err != nil {
		return nil, err
	}
	o := &AllocOp[T]{ctx: c, pool: pool, n: n}
	if pool != nil {
		o.refs = []life.Ref{pool}
	}
	o.params.Bytesize = bytes
	o.params.PoolProps.AllocType = cu.CU_MEM_ALLOCATION_TYPE_PINNED
	o.params.PoolProps.Location = deviceLocation(c.Device())
	return o, nil
}

// AllocIn allocates a buffer, stream-ordered on s, as AllocFromPool does.
func (o *AllocOp[T]) AllocIn(s *Stream) (*Buffer[T], error) {
	if o == nil || o.ctx == nil {
		return nil, absentError(o == nil, "allocation")
	}
	return AllocFromPool[T](s, o.pool, o.n)
}

// Context returns the memory's context.
func (o *AllocOp[T]) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Uses returns the pool and the node parameters, which get the address.
func (o *AllocOp[T]) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: o.refs, Node: &o.params}
}

// String describes the operation.
func (o *AllocOp[T]) String() string {
	if o == nil {
		return "nil allocation"
	}
	return fmt.Sprintf("allocation of %d × %s", o.n, elemName[T]())
}

// FreeOp is a free operation for graphs. In streams, use Buffer.FreeAsync.
type FreeOp struct {
	mem  span
	refs [1]life.Ref
}

// NewFree returns an operation that frees a buffer. If b is a view, the operation frees the view's
// whole buffer.
func NewFree(b Memory) (*FreeOp, error) {
	m, err := spanOf(b)
	if err != nil {
		return nil, err
	}
	if m.a.order == nil {
		return nil, fmt.Errorf("%v: %w", b, errNotOrdered)
	}
	return &FreeOp{mem: span{m.a, m.a.ptr, m.a.bytes}, refs: [1]life.Ref{m.a}}, nil
}

// Context returns the context of the memory.
func (o *FreeOp) Context() *Context {
	if o == nil || o.mem.a == nil {
		return nil
	}
	return o.mem.a.ctx
}

// Uses returns the memory that the operation frees.
func (o *FreeOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: o.refs[:], Node: &o.mem.ptr}
}

// String describes the operation.
func (o *FreeOp) String() string {
	if o == nil {
		return "nil free"
	}
	return fmt.Sprintf("free of %v", o.mem)
}
