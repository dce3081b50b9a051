package driver

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// ordered is what the freeing of a stream-ordered allocation needs. It is
// apart from the allocation, which the destruction must not refer to.
type ordered struct {
	mu     sync.Mutex
	ptr    CUdeviceptr
	stream CUstream
	hold   *Lifetime // of the stream, if that is not the one it was allocated in
	graph  bool      // recorded in a graph, which owns the memory

	live      bool // of a graph's memory: a launch left it allocated
	elsewhere bool // of a graph's memory: a capture frees it that nobody follows
}

// destroy frees the memory in the order of the stream.
func (o *ordered) destroy(d *Driver) error {
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
	return d.CuMemFreeAsync(o.ptr, o.stream)
}

// freeOn has the memory freed in the order of s instead of the stream it was
// allocated in.
func (o *ordered) freeOn(s *Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream, o.hold = s.raw, s.life
}

// freeOn closes stream-ordered memory and has it freed in the order of s, which
// it keeps until that happened.
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
	if !a.life.closed.CompareAndSwap(false, true) { // somebody else was faster
		s.life.Done()
		return a.life.Check()
	}
	a.order.freeOn(s)
	return a.life.release()
}

// AllocAsync allocates device memory for n elements in the order of s: work
// sent to s afterwards may use it, work in other streams when it is ordered
// behind. The memory comes from the device's current pool, without a call to
// the operating system in the steady state if the pool may keep some, see
// [MemPool.SetReleaseThreshold]. A device without pools (Properties.MemoryPools)
// is CUDA_ERROR_NOT_SUPPORTED.
//
// Close and FreeAsync free it in the order of a stream. Memory that is dropped
// without either is freed in the order of s, so work that uses it in other
// streams has to be ordered before that as well.
//
// In a stream that is capturing, the allocation becomes a node of the graph.
// The graph then owns the memory: Close does not free it, FreeAsync in the
// capture records that the graph does, and afterwards frees what a launch left.
func AllocAsync[T any](s *Stream, n int) (*Buffer[T], error) {
	return AllocFromPool[T](s, nil, n)
}

// AllocFromPool is AllocAsync with memory of a given pool; nil is the device's
// current one.
func AllocFromPool[T any](s *Stream, pool *MemPool, n int) (*Buffer[T], error) {
	kind, bytes, err := newBuffer[T](n)
	if err != nil {
		return nil, err
	}
	a, err := allocateAsync(s, pool, kind, bytes)
	if err != nil {
		return nil, err
	}
	return bufferOf[T](a), nil
}

func allocateAsync(s *Stream, pool *MemPool, kind string, bytes uintptr) (*allocation, error) {
	if err := s.ready(); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", aKind(kind), err)
	}
	graph, err := s.recording()
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", aKind(kind), err)
	}
	life, err := s.life.Child(kind)
	if err != nil {
		return nil, err
	}
	o := &ordered{stream: s.raw, graph: graph}
	a := &allocation{life: life, ctx: s.ctx, bytes: bytes, order: o}
	if bytes > 0 {
		err = pool.alloc(s, &o.ptr, bytes)
	}
	if err != nil {
		return nil, life.Abandon(fmt.Errorf("%d bytes: %w", bytes, err))
	}
	a.ptr = o.ptr
	if pool != nil {
		a.owner = pool
	}
	Own(a, life, uint64(a.ptr), o.destroy)
	runtime.KeepAlive(s)
	return a, nil
}

// alloc is the driver's part; a nil pool is the device's current one.
func (p *MemPool) alloc(s *Stream, ptr *CUdeviceptr, bytes uintptr) error {
	if p == nil {
		return s.d.CuMemAllocAsync(ptr, bytes, s.raw)
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

// recording reports whether the stream is capturing.
func (s *Stream) recording() (bool, error) {
	var status CUstreamCaptureStatus
	err := s.ctx.core.guarded.CuStreamIsCapturing(s.raw, &status)
	return status != CU_STREAM_CAPTURE_STATUS_NONE, err
}

var errNotOrdered = errors.New("it was not allocated in the order of a stream; use Close")

// FreeAsync closes the buffer and frees its memory when the work sent to s so
// far is done. The buffer comes from AllocAsync or AllocFromPool; in a stream
// that is capturing, from the same capture or from another graph.
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
