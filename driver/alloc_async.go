package driver

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// ordered holds the lifetime of a stream-ordered allocation and what freeing it needs. It is
// separate from the allocation because the destructor must not refer to that.
type ordered struct {
	life   life.Lifetime
	mu     sync.Mutex
	ptr    CUdeviceptr
	d      *Driver // for a free in the order of stream; nil: the context's driver
	stream CUstream
	hold   *life.Lifetime // of the stream, if that is not the one it was allocated in
	graph  bool           // recorded in a graph, which owns the memory

	live      bool // of a graph's memory: a launch left it allocated
	elsewhere bool // of a graph's memory: a capture that is not tracked frees it
}

// Destroy frees the memory in stream order.
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

// freeOn makes s, instead of the stream of the allocation, the stream in whose order the memory is
// freed.
func (o *ordered) freeOn(s *Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.d, o.stream, o.hold = s.guardedSelf(), s.raw, s.life
}

// freeNow frees memory without other references in the order of s.
func (o *ordered) freeNow(s *Stream) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ptr == 0 {
		return nil
	}
	err := s.guardedSelf().CuMemFreeAsync(o.ptr, s.raw)
	if err == nil {
		o.ptr = 0 // Destroy has nothing to do
	}
	return err
}

// freeOn closes stream-ordered memory and frees it in the order of s. While other references exist,
// the memory retains s and is freed with the last of them. If the driver refuses, the buffer is
// open again: the memory is still allocated and another call can free it.
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
	if !a.watch.Disown(a.life) { // another call closed it first
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

// AllocAsync allocates device memory for n elements in the order of s. Work enqueued in s
// afterwards may use the memory. Work in other streams must be ordered after the allocation. The
// memory comes from the device's current pool (see [MemPool.SetReleaseThreshold]). On a device
// without pools (Properties.MemoryPools) the error is CUDA_ERROR_NOT_SUPPORTED.
//
// Close and FreeAsync free the memory in stream order. A buffer that becomes unreachable without
// either is freed in the order of s, so order its uses in other streams before that as well.
//
// In a capturing stream, the allocation becomes a node of the graph, and the graph owns the memory:
// Close does not free it. FreeAsync during the capture records a free node. After the capture it
// frees what a launch left allocated.
func AllocAsync[T any](s *Stream, n int) (*Buffer[T], error) {
	return AllocFromPool[T](s, nil, n)
}

// AllocFromPool is AllocAsync with memory from the given pool. A nil pool is the device's current
// one.
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

// Close is Buffer.Close for package graph, which only has the Ref of a buffer.
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

// begin makes a the allocation of o's memory, whose lifetime has begun.
func (a *allocation) begin(s *Stream, o *ordered, bytes uintptr) {
	o.d, o.stream = s.guardedSelf(), s.raw
	a.life, a.ctx, a.ptr, a.bytes, a.order = &o.life, s.ctx, o.ptr, bytes, o
	a.watch.Own(a.life, uint64(a.ptr), o)
	runtime.KeepAlive(s)
}

// alloc makes the driver call. A nil pool is the device's current one.
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

// recording reports whether the stream is capturing. The query needs no guard because it does not
// disturb captures (TestQueriesOfCapturesDisturbNone).
func (s *Stream) recording() (bool, error) {
	var status cu.CUstreamCaptureStatus
	err := s.self.CuStreamIsCapturing(s.raw, &status)
	return status != cu.CU_STREAM_CAPTURE_STATUS_NONE, err
}

var errNotOrdered = errors.New("it was not allocated in the order of a stream; use Close")

// FreeAsync closes the buffer and frees its memory after all work already in s. The buffer must
// come from AllocAsync or AllocFromPool. In a capturing stream, it must come from the same capture
// or from another graph. On error the buffer stays open and keeps its memory.
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
