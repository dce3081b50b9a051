package driver

import "fmt"

// Op describes one piece of device work without doing it: a kernel launch with
// its arguments bound, a copy, a fill, a host function, an event. Stream.Do
// runs it (during a capture that records it), and package graph makes nodes of
// it and takes new parameters for nodes from it. So one description serves
// eager execution, capture, graphs built by hand and updates.
//
// The operations are *Launch, *CopyOp, *FillOp, *HostFunc, *EventRecordOp,
// *EventWaitOp, *MemOp, *SemaphoreSignal and *SemaphoreWait, and package graph's
// *LaunchOp; there are no others. What allocates or frees is an AllocatingOp and not an Op, so that code
// that takes Ops cannot be handed an allocation whose address a replay would
// change.
//
// Operations may be enqueued by several goroutines at a time, but not while
// one changes them (SetArg).
type Op interface {
	// Enqueue sends the operation to s, as Stream.Do does after its own checks.
	Enqueue(s *Stream) error
	// Context is where the operation runs.
	Context() *Context
	// Refs is what the operation refers to and must outlive its use. The slice
	// belongs to the operation and changes with it: read it, or copy it.
	Refs() []Ref
	// Accesses is the memory that the operation reads and writes, as far as it
	// is known. The slice belongs to the operation.
	Accesses() []Access
	// String describes the operation for messages and drawings.
	String() string

	op()
}

// OpBase makes an operation of a type of package graph, which embeds it. An
// operation of any other type can be sent to streams, and graphs refuse it.
type OpBase struct{}

//lint:ignore U1000 it makes an OpBase an Op
func (OpBase) op() {}

// AllocatingOp is an operation that allocates or frees in the order of a
// stream. Stream.Allocate runs it.
type AllocatingOp interface {
	// Context is where the operation runs.
	Context() *Context
	// Refs is what the operation refers to and must outlive its use.
	Refs() []Ref
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

// String is "read", "write" or "read and write".
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

// checkStream is what every Enqueue asks when its own comparison of contexts
// failed: is there a stream, and is it one of the operation's context.
func checkStream(op fmt.Stringer, c *Context, s *Stream) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("%v: %w", op, err)
	}
	if c.sameAs(s.ctx) {
		return nil
	}
	return &invalidError{fmt.Sprintf("%v belongs to %v, but %v to %v", op, c, s, s.ctx)}
}
