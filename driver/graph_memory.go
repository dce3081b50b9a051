package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// GraphMemStats describes the device memory that graph allocation nodes use, in bytes. It does not
// include memory pools. Freed memory stays reserved for later launches until [Device.TrimGraphMem].
type GraphMemStats struct {
	Used, UsedHigh         uint64 // currently allocated, and the maximum since ResetGraphMemStats
	Reserved, ReservedHigh uint64 // currently reserved, and the maximum since ResetGraphMemStats
}

// GraphMemStats returns statistics of the memory of graphs on the device.
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

// ResetGraphMemStats sets UsedHigh to Used and ReservedHigh to Reserved.
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

// TrimGraphMem returns unused graph memory to the device. What a launch left allocated counts as
// used. TrimGraphMem invalidates no captures.
func (dev Device) TrimGraphMem() error {
	if err := dev.check(); err != nil {
		return err
	}
	if err := dev.driver.Guarded().CuDeviceGraphMemTrim(dev.raw); err != nil {
		return dev.named(fmt.Errorf("trim of the memory of graphs: %w", err))
	}
	return nil
}

// Ptr returns the device address.
func (o *ordered) Ptr() CUdeviceptr { return o.ptr }

// IsGraph implements life.GraphMemory.
func (o *ordered) IsGraph() bool { return o.isGraph() }

// Allocated implements life.GraphMemory. From now on, releasing the last reference to the buffer
// frees the memory, unless an untracked capture frees it.
func (o *ordered) Allocated() {
	o.mu.Lock()
	o.live = !o.elsewhere
	o.mu.Unlock()
}

// Freed implements life.GraphMemory.
func (o *ordered) Freed() {
	o.mu.Lock()
	o.live = false
	o.mu.Unlock()
}

// IsAllocated implements life.GraphMemory.
func (o *ordered) IsAllocated() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.live
}

// String returns a description with the memory's address.
func (o *ordered) String() string { return fmt.Sprintf("graph memory %#x", uint64(o.ptr)) }

// FreeIn implements life.GraphMemory.
func (o *ordered) FreeIn(d *cu.Driver, s CUstream) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return d.CuMemFreeAsync(o.ptr, s)
}

func (o *ordered) isGraph() bool {
	return o != nil && o.graph
}

// freeGraph frees graph memory, stream-ordered on s. If s is capturing, it records a free node.
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

// freeLeft frees graph memory that is still allocated after a launch, once the last reference is
// released. cuMemFree waits for work that still uses the memory.
func (o *ordered) freeLeft(d *cu.Driver) error {
	if !o.live {
		return nil
	}
	o.live = false
	return d.CuMemFree(o.ptr)
}

// FreeGraphMemory frees, in stream order, memory that is still allocated after a graph launch. The
// buffer stays open, because the next launch allocates at the same address. To close the buffer as
// well, use [Buffer.FreeAsync].
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

// closeGraphMemory frees the memory, stream-ordered on s, and closes the buffer. The address stays
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

// pendingGraphBuffer is a buffer whose allocation node does not exist yet. It is a Ref because the
// graph must retain the buffer before it creates the node. An allocation node cannot be removed if
// retaining fails.
type pendingGraphBuffer[T any] struct{ a *allocation }

// PendGraphBuffer begins to create a buffer in graph memory. After creating the node, call the
// result's At method. If that fails, call Abandon.
func (o *AllocOp[T]) PendGraphBuffer() (pendingGraphBuffer[T], error) {
	var none pendingGraphBuffer[T]
	if o == nil {
		return none, nilError("allocation")
	}
	l, err := newLifetime(o.ctx, "graph buffer of "+elemName[T]())
	if err != nil {
		return none, err
	}
	return pendingGraphBuffer[T]{&allocation{
		life: l, ctx: o.ctx, bytes: o.params.Bytesize, order: &ordered{graph: true},
	}}, nil
}

func (p pendingGraphBuffer[T]) Lifetime() *life.Lifetime {
	if p.a == nil {
		return nil
	}
	return p.a.life
}

// Abandon gives up the buffer. It returns err, prefixed with the kind of object.
func (p pendingGraphBuffer[T]) Abandon(err error) error {
	if p.a == nil {
		return err
	}
	return p.a.life.Abandon(err)
}

// At returns the buffer at the address that the driver chose for the node. The buffer keeps a
// reference to keep.
func (p pendingGraphBuffer[T]) At(ptr CUdeviceptr, keep any) *Buffer[T] {
	if p.a == nil {
		return nil
	}
	a := p.a
	a.ptr, a.order.ptr, a.owner = ptr, ptr, keep
	life.OwnBy(a, a.life, uint64(ptr), a.order)
	return bufferOf[T](a)
}
