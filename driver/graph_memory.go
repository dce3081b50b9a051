package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// GraphMemStats reports the memory of graphs' allocation nodes on a device, in bytes. The driver
// keeps it apart from its pools, and keeps freed memory for the next launch until
// [Device.TrimGraphMem].
type GraphMemStats struct {
	Used, UsedHigh         uint64 // in allocations; the most since ResetGraphMemStats
	Reserved, ReservedHigh uint64 // taken from the device
}

// GraphMemStats returns the memory that graphs hold on the device (CUDA 11.4).
func (dev Device) GraphMemStats() (GraphMemStats, error) {
	var s GraphMemStats
	if err := dev.check(); err != nil {
		return s, err
	}
	for _, v := range []struct {
		attribute cu.CUgraphMem_attribute
		to        *uint64
	}{
		{cu.CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &s.Used},
		{cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &s.UsedHigh},
		{cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &s.Reserved},
		{cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &s.ReservedHigh},
	} {
		if err := dev.driver.CuDeviceGetGraphMemAttribute(dev.raw, v.attribute, unsafe.Pointer(v.to)); err != nil {
			return GraphMemStats{}, dev.named(fmt.Errorf("memory of graphs: %w", err))
		}
	}
	return s, nil
}

// ResetGraphMemStats resets the high-water marks to the current values (CUDA 11.4).
func (dev Device) ResetGraphMemStats() error {
	if err := dev.check(); err != nil {
		return err
	}
	for _, a := range []cu.CUgraphMem_attribute{cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH} {
		zero := new(uint64)
		if err := dev.driver.CuDeviceSetGraphMemAttribute(dev.raw, a, unsafe.Pointer(zero)); err != nil {
			return dev.named(fmt.Errorf("memory of graphs: reset of %v: %w", a, err))
		}
	}
	return nil
}

// TrimGraphMem returns memory that graphs do not use to the device (CUDA 11.4). Memory that a
// launch allocated and left is in use. It does not disturb captures.
func (dev Device) TrimGraphMem() error {
	if err := dev.check(); err != nil {
		return err
	}
	if err := dev.driver.Guarded().CuDeviceGraphMemTrim(dev.raw); err != nil {
		return dev.named(fmt.Errorf("trim of the memory of graphs: %w", err))
	}
	return nil
}

// GraphMemory is the memory of a graph's allocation node. Its address is fixed when the node is
// created, but it is only backed by memory from a launch until something frees it. Packages that
// launch graphs record here whether it is allocated. Values are equal if they are the same memory.
type GraphMemory struct{ o *ordered }

// GraphMemoryOf returns the graph memory that m is part of, or false if m does not belong to
// a graph.
func GraphMemoryOf(m Memory) (GraphMemory, bool) {
	s, err := spanOf(m)
	if err != nil || s.a.order == nil || !s.a.order.isGraph() {
		return GraphMemory{}, false
	}
	return GraphMemory{s.a.order}, true
}

// GraphMemory returns the graph memory that the operation frees, or false if the memory does not
// belong to a graph.
func (o *FreeOp) GraphMemory() (GraphMemory, bool) {
	if o == nil || o.mem.a == nil || !o.mem.a.order.isGraph() {
		return GraphMemory{}, false
	}
	return GraphMemory{o.mem.a.order}, true
}

// Ptr returns the device address.
func (m GraphMemory) Ptr() CUdeviceptr {
	if m.o == nil {
		return 0
	}
	return m.o.ptr
}

// Allocated records that a launch left the memory allocated. Unless something else frees it, it is
// freed with the last reference to the buffer.
func (m GraphMemory) Allocated() {
	if m.o == nil {
		return
	}
	m.o.mu.Lock()
	m.o.live = !m.o.elsewhere
	m.o.mu.Unlock()
}

// Freed records that a launch freed the memory.
func (m GraphMemory) Freed() {
	if m.o == nil {
		return
	}
	m.o.mu.Lock()
	m.o.live = false
	m.o.mu.Unlock()
}

// IsAllocated reports whether a launch left the memory allocated and no recorded call has freed it
// since.
func (m GraphMemory) IsAllocated() bool {
	if m.o == nil {
		return false
	}
	m.o.mu.Lock()
	defer m.o.mu.Unlock()
	return m.o.live
}

// String returns the memory's address.
func (m GraphMemory) String() string {
	if m.o == nil {
		return "no graph memory"
	}
	return fmt.Sprintf("graph memory %#x", uint64(m.o.ptr))
}

// FreeIn frees the memory in the order of s. If s is capturing, it records a free node instead, and
// the caller tracks what launches of that node do.
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

// freeGraph frees a graph's memory in the order of s, or records a free node if s is capturing.
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

// freeLeft frees a graph's memory without references. cuMemFree waits for work that still uses it.
func (o *ordered) freeLeft(d *cu.Driver) error {
	if !o.live {
		return nil
	}
	o.live = false
	return d.CuMemFree(o.ptr)
}

// FreeGraphMemory frees, after all work already in s, the memory that a graph launch allocated and
// left. The buffer stays open, because the next launch allocates the memory again at the same
// address. To close the buffer as well, use [Buffer.FreeAsync].
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

// closeGraphMemory frees the memory in the order of s and closes the buffer. The address remains
// reserved for the graph.
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

// PendingGraphBuffer is a buffer whose allocation node does not exist yet. It is a Ref, so that the
// graph can retain the buffer before it creates the node. Allocation nodes cannot be removed.
type PendingGraphBuffer[T any] struct{ a *allocation }

// PendGraphBuffer begins a buffer for memory that a graph will own. End it with At or Abandon.
func (o *AllocOp[T]) PendGraphBuffer() (PendingGraphBuffer[T], error) {
	var none PendingGraphBuffer[T]
	if o == nil {
		return none, nilError("allocation")
	}
	l, err := newLifetime(o.ctx, "graph buffer of "+elemName[T]())
	if err != nil {
		return none, err
	}
	return PendingGraphBuffer[T]{&allocation{
		life: l, ctx: o.ctx, bytes: o.params.Bytesize, order: &ordered{graph: true},
	}}, nil
}

// Lifetime implements Ref.
func (p PendingGraphBuffer[T]) Lifetime() *life.Lifetime {
	if p.a == nil {
		return nil
	}
	return p.a.life
}

// Abandon ends the buffer because no node was created, and returns err with the kind of object in
// front.
func (p PendingGraphBuffer[T]) Abandon(err error) error {
	if p.a == nil {
		return err
	}
	return p.a.life.Abandon(err)
}

// At returns the buffer at the address that the driver gave the node. keep stays reachable as long
// as the buffer.
func (p PendingGraphBuffer[T]) At(ptr CUdeviceptr, keep any) *Buffer[T] {
	if p.a == nil {
		return nil
	}
	a := p.a
	a.ptr, a.order.ptr, a.owner = ptr, ptr, keep
	life.Own(a, a.life, uint64(ptr), a.order.Destroy)
	return bufferOf[T](a)
}

// Pool returns the pool that the operation allocates from when a stream runs it, nil for the
// device's current pool.
func (o *AllocOp[T]) Pool() *MemPool {
	if o == nil {
		return nil
	}
	return o.pool
}

// Len returns the number of elements to allocate.
func (o *AllocOp[T]) Len() int {
	if o == nil {
		return 0
	}
	return o.n
}
