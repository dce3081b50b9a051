package driver

import (
	"fmt"
	"runtime"
)

// GraphMemory is the memory behind an allocation node of a graph: an address
// that is fixed from the node's making on, with memory behind it from a launch
// until something frees that. It is for packages that launch graphs, which
// follow here whether there is memory; values are equal if they are the same
// memory.
type GraphMemory struct{ o *ordered }

// GraphMemoryOf returns what m is a part of, if that is a graph's memory.
func GraphMemoryOf(m Memory) (GraphMemory, bool) {
	s, err := spanOf(m)
	if err != nil || s.a.order == nil || !s.a.order.isGraph() {
		return GraphMemory{}, false
	}
	return GraphMemory{s.a.order}, true
}

// GraphMemory returns the memory that the operation frees, if that is a
// graph's.
func (o *FreeOp) GraphMemory() (GraphMemory, bool) {
	if o == nil || o.mem.a == nil || !o.mem.a.order.isGraph() {
		return GraphMemory{}, false
	}
	return GraphMemory{o.mem.a.order}, true
}

// Ptr is the address.
func (m GraphMemory) Ptr() CUdeviceptr {
	if m.o == nil {
		return 0
	}
	return m.o.ptr
}

// Allocated notes that a launch left the memory allocated: unless something
// else frees it, it is freed with the last reference to the buffer.
func (m GraphMemory) Allocated() {
	if m.o == nil {
		return
	}
	m.o.mu.Lock()
	m.o.live = !m.o.elsewhere
	m.o.mu.Unlock()
}

// Freed notes that a launch freed the memory.
func (m GraphMemory) Freed() {
	if m.o == nil {
		return
	}
	m.o.mu.Lock()
	m.o.live = false
	m.o.mu.Unlock()
}

// IsAllocated reports whether a launch left the memory allocated and nothing
// that is known freed it since.
func (m GraphMemory) IsAllocated() bool {
	if m.o == nil {
		return false
	}
	m.o.mu.Lock()
	defer m.o.mu.Unlock()
	return m.o.live
}

// String names the memory by its address.
func (m GraphMemory) String() string {
	if m.o == nil {
		return "no graph memory"
	}
	return fmt.Sprintf("graph memory %#x", uint64(m.o.ptr))
}

// FreeIn frees the memory in the order of s, or, if s is capturing, has the
// graph that is being captured do it: the caller follows what that does.
func (m GraphMemory) FreeIn(s *Stream) error {
	if m.o == nil {
		return absentError(false, "graph memory")
	}
	if err := s.check(); err != nil {
		return err
	}
	m.o.mu.Lock()
	defer m.o.mu.Unlock()
	err := s.ctx.core.guarded.CuMemFreeAsync(m.o.ptr, s.raw)
	runtime.KeepAlive(s)
	return err
}

func (o *ordered) isGraph() bool {
	return o != nil && o.graph
}

// freeGraph frees a graph's memory in the order of s, or, if s is capturing,
// has the graph that is being captured do it.
func (o *ordered) freeGraph(s *Stream) error {
	capturing, err := s.recording()
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := s.ctx.core.guarded.CuMemFreeAsync(o.ptr, s.raw); err != nil {
		return err
	}
	o.live = false
	o.elsewhere = o.elsewhere || capturing
	return nil
}

// freeLeft is the end of a graph's memory that nothing refers to any more.
// cuMemFree waits for whoever still uses it.
func (o *ordered) freeLeft(d *Driver) error {
	if !o.live {
		return nil
	}
	o.live = false
	return d.CuMemFree(o.ptr)
}

// FreeGraphMemory frees, when the work sent to s so far is done, what a launch
// of a graph allocated and left. The buffer stays open, for the next launch
// allocates the memory again at the same address. It is how a program gives
// back a graph's output; [Buffer.FreeAsync] also closes the buffer.
func (s *Stream) FreeGraphMemory(m Memory) error {
	if err := s.ready(); err != nil {
		return err
	}
	mem, err := spanOf(m)
	if err != nil {
		return s.named(err)
	}
	if mem.bytes == 0 {
		return nil
	}
	if !mem.a.order.isGraph() {
		return s.named(invalidf("%v is not memory of a graph's allocation node", mem))
	}
	if err := s.ctx.sameDriver(mem.a.ctx, mem.a.life); err != nil {
		return s.named(err)
	}
	err = mem.a.order.freeGraph(s)
	runtime.KeepAlive(m)
	if err != nil {
		return fmt.Errorf("%v: cannot free %v: %w", s, mem, err)
	}
	return nil
}

// closeGraphMemory frees the memory now and closes what holds it. The address
// stays the graph's.
func (a *allocation) closeGraphMemory(s *Stream) error {
	if err := a.life.Check(); err != nil {
		return err
	}
	if a.bytes > 0 {
		if err := a.order.freeGraph(s); err != nil {
			return fmt.Errorf("%v: cannot free %v: %w", s, a.life, err)
		}
	}
	return a.Close()
}

// PendingGraphBuffer is a buffer whose address an allocation node is about to
// get. It is a Ref, so that the graph can hold the buffer before the node is
// there: a node that allocates cannot be removed again.
type PendingGraphBuffer[T any] struct{ a *allocation }

// PendGraphBuffer begins a buffer for memory that a graph owns.
func (o *AllocOp[T]) PendGraphBuffer() (PendingGraphBuffer[T], error) {
	var none PendingGraphBuffer[T]
	if o == nil {
		return none, nilError("allocation")
	}
	life, err := NewLifetime(o.ctx, "graph buffer of "+elemName[T]())
	if err != nil {
		return none, err
	}
	return PendingGraphBuffer[T]{&allocation{
		life: life, ctx: o.ctx, bytes: o.params.Bytesize, order: &ordered{graph: true},
	}}, nil
}

// Lifetime implements Ref.
func (p PendingGraphBuffer[T]) Lifetime() *Lifetime {
	if p.a == nil {
		return nil
	}
	return p.a.life
}

// Abandon ends it, because there is no node.
func (p PendingGraphBuffer[T]) Abandon(err error) error {
	if p.a == nil {
		return err
	}
	return p.a.life.Abandon(err)
}

// At is the buffer, at the address that the driver gave the node. keep is what
// must stay reachable while the buffer is used.
func (p PendingGraphBuffer[T]) At(ptr CUdeviceptr, keep any) *Buffer[T] {
	if p.a == nil {
		return nil
	}
	a := p.a
	a.ptr, a.order.ptr, a.owner = ptr, ptr, keep
	Own(a, a.life, uint64(ptr), a.order.Destroy)
	return bufferOf[T](a)
}

// Pool is where the operation takes memory from when a stream runs it, nil for
// the device's current pool.
func (o *AllocOp[T]) Pool() *MemPool {
	if o == nil {
		return nil
	}
	return o.pool
}

// Len is how many elements are allocated.
func (o *AllocOp[T]) Len() int {
	if o == nil {
		return 0
	}
	return o.n
}
