package driver

import (
	"fmt"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Allocate runs an allocating operation on the stream, or records it if the stream is capturing.
func (s *Stream) Allocate(op AllocatingOp) error {
	if err := s.ready(); err != nil {
		return err
	}
	if op == nil {
		return invalidf("%v: nil operation", s)
	}
	return op.allocate(s)
}

// AllocOp is AllocAsync as an operation. Each run creates a buffer.
type AllocOp[T any] struct {
	ctx    *Context
	pool   *MemPool
	n      int
	refs   []life.Ref
	params cu.CUDA_MEM_ALLOC_NODE_PARAMS

	mu  sync.Mutex
	buf *Buffer[T]
}

// NewAlloc describes the allocation of n elements from a pool. A nil pool is the device's current
// one.
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

func (o *AllocOp[T]) allocate(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "allocation")
	}
	b, err := AllocFromPool[T](s, o.pool, o.n)
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.buf = b
	o.mu.Unlock()
	return nil
}

// Buffer returns the buffer of the latest run. The caller must close it. A second call returns an
// error until the next run.
func (o *AllocOp[T]) Buffer() (*Buffer[T], error) {
	if o == nil || o.ctx == nil {
		return nil, absentError(o == nil, "allocation")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buf
	o.buf = nil
	if b == nil {
		return nil, invalidf("%v did not run since its buffer was taken", o)
	}
	return b, nil
}

// MemAllocNodeParams returns the parameters of a graph node for the allocation. The struct belongs
// to o, and the driver writes the address into it.
func (o *AllocOp[T]) MemAllocNodeParams() *cu.CUDA_MEM_ALLOC_NODE_PARAMS {
	if o == nil {
		return nil
	}
	return &o.params
}

// Context returns the memory's context.
func (o *AllocOp[T]) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Refs returns the pool.
func (o *AllocOp[T]) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// String describes the allocation.
func (o *AllocOp[T]) String() string {
	if o == nil {
		return "nil allocation"
	}
	return fmt.Sprintf("allocation of %d × %s", o.n, elemName[T]())
}

// FreeOp is FreeAsync as an operation.
type FreeOp struct {
	mem  span
	refs [1]life.Ref
}

// NewFree describes the stream-ordered free of a buffer, or of the buffer of a view. Running it
// closes the buffer.
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

func (o *FreeOp) allocate(s *Stream) error {
	if o == nil || o.mem.a == nil {
		return absentError(o == nil, "free")
	}
	if err := o.mem.check(); err != nil {
		return err
	}
	return o.mem.a.freeOn(s)
}

// Ptr returns the address to free, as a graph node takes it.
func (o *FreeOp) Ptr() CUdeviceptr {
	if o == nil {
		return 0
	}
	return o.mem.ptr
}

// Context returns the context of the memory.
func (o *FreeOp) Context() *Context {
	if o == nil || o.mem.a == nil {
		return nil
	}
	return o.mem.a.ctx
}

// Refs returns the memory.
func (o *FreeOp) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs[:]
}

// String describes the free.
func (o *FreeOp) String() string {
	if o == nil {
		return "nil free"
	}
	return fmt.Sprintf("free of %v", o.mem)
}
