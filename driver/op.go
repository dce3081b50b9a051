package driver

import (
	"fmt"

	"github.com/purecuda/cuda/internal/life"
)

// Op describes one piece of device work: a kernel launch with its arguments bound, a copy, a fill,
// a host function, an event. Stream.Do runs it, or records it if the stream is capturing. Package
// graph creates nodes from it and updates nodes with it. So one description serves direct
// execution, capture, graphs built by hand and updates.
//
// The operations are *Launch, *CopyOp, *FillOp, *HostFunc, *EventOp, *MemOp and *SemaphoreOp, and
// the launch of an executable graph. There are no others.
// Operations that allocate or free are AllocatingOps instead, because a replay of an allocation
// would change its address.
//
// Several goroutines may enqueue an operation concurrently, but not while another changes it
// (SetArg).
type Op interface {
	// Enqueue enqueues the operation in s, as Stream.Do does after its own checks.
	Enqueue(s *Stream) error
	// Context returns the context in which the operation runs.
	Context() *Context
	// Refs returns what the operation refers to, which must outlive its use. The slice belongs to
	// the operation and changes with it: read it, or copy it.
	Refs() []life.Ref
	// Accesses returns the memory accesses of the operation, as far as they are known. The slice
	// belongs to the operation.
	Accesses() []Access
	// String describes the operation for messages and drawings.
	String() string

	op()
}

// OpBase makes a type of package graph that embeds it an operation. Operations of any other type
// can be enqueued in streams, but graphs reject them.
type OpBase struct{}

//lint:ignore U1000 it makes an OpBase an Op
func (OpBase) op() {}

// AllocatingOp is an operation that allocates or frees in stream order. Stream.Allocate runs it.
type AllocatingOp interface {
	// Context returns the context in which the operation runs.
	Context() *Context
	// Refs returns what the operation refers to, which must outlive its use.
	Refs() []life.Ref
	// String describes the operation for messages and drawings.
	String() string

	allocate(s *Stream) error
}

// AccessMode says what an operation does to a range of memory.
type AccessMode uint8

// The modes of access.
const (
	Reads AccessMode = 1 << iota
	Writes
	ReadsWrites = Reads | Writes
)

// String returns "read", "write" or "read and write".
func (m AccessMode) String() string {
	switch m {
	case Reads:
		return "read"
	case Writes:
		return "write"
	case ReadsWrites:
		return "read and write"
	}
	return "no access"
}

// checkStream explains why an Enqueue's quick comparison of contexts failed. It returns nil if s is
// a stream of the operation's driver context.
func checkStream(op fmt.Stringer, c *Context, s *Stream) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	if c.sameAs(s.ctx) {
		return nil
	}
	return &invalidError{fmt.Sprintf("%v belongs to %v, but %v to %v", op, c, s, s.ctx)}
}
