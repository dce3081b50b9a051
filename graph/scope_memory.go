package graph

import (
	"fmt"
	"slices"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/internal/life"
)

// Allocate records an allocation in the scope's capture, as [AddAlloc] adds one, with the same
// rules for the memory. It is separate from [Scope.Do], so that code which takes a function for
// operations does not record allocations by accident. An operation of no elements records nothing.
func Allocate[T any](sc *Scope, op *driver.AllocOp[T]) (*driver.Buffer[T], error) {
	r, err := sc.lock()
	if err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	if op == nil {
		return nil, invalid("nil allocation for the capture of %v", sc.s)
	}
	return allocateIn[T](r, sc.s, op.Pool(), op.Len())
}

// allocateIn records an allocation in a capture that is locked.
func allocateIn[T any](r *recording, s *driver.Stream, pool *driver.MemPool, n int) (*driver.Buffer[T], error) {
	b, err := driver.AllocFromPool[T](s, pool, n)
	if err != nil {
		return nil, err
	}
	if err := r.changing(func(o *retain.References) error { return o.RetainMemory(b) }); err != nil {
		return nil, join([]error{err, b.Close()})
	}
	return b, nil
}

// Free records that the graph frees memory that a node of it, or of another graph, allocated. The
// buffer stays open, but nothing that runs afterwards may use the memory.
func (sc *Scope) Free(op *driver.FreeOp) error {
	r, err := sc.lock()
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	if op == nil {
		return invalid("nil operation for the capture of %v", sc.s)
	}
	m, ok := freedBy(op)
	if !ok {
		return invalid("%v: it is not memory of an allocation node, a graph cannot free it", op)
	}
	return r.free(sc.s, m, op, op.Refs())
}

// free records a free in a capture that is locked.
func (r *recording) free(s *driver.Stream, m life.GraphMemory, op fmt.Stringer, refs []life.Ref) error {
	if m.Ptr() == 0 { // no elements
		return nil
	}
	return r.changing(func(o *retain.References) error {
		if o.Mem != nil && slices.Contains(o.Mem.Frees, m) {
			return invalid("%v: the capture frees it already", op)
		}
		if err := o.Retain(refs); err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
		if err := m.FreeIn(&s.Context().Guarded().Driver, s.Raw()); err != nil {
			o.Abandon()
			return fmt.Errorf("%v: %w", op, err)
		}
		o.CommitLoose()
		o.Memory().Frees = append(o.Memory().Frees, m)
		return nil
	})
}
