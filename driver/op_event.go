package driver

import (
	"fmt"

	"github.com/purecuda/cuda/internal/life"
)

// EventRecordOp records an event in stream order.
type EventRecordOp struct {
	event *Event
	refs  []life.Ref
}

// RecordOp returns an operation that records e, as Stream.Record does.
func RecordOp(e *Event) *EventRecordOp {
	return &EventRecordOp{event: e, refs: eventRefs(e)}
}

// EventWaitOp holds back later work in the stream until an event has completed.
type EventWaitOp struct {
	event *Event
	refs  []life.Ref
}

// WaitOp returns an operation that waits for e, as Stream.WaitEvent does.
func WaitOp(e *Event) *EventWaitOp {
	return &EventWaitOp{event: e, refs: eventRefs(e)}
}

func eventRefs(e *Event) []life.Ref {
	if e == nil {
		return nil
	}
	return []life.Ref{e}
}

// Event returns the event that the operation records.
func (o *EventRecordOp) Event() *Event {
	if o == nil {
		return nil
	}
	return o.event
}

// Event returns the event that the operation waits for.
func (o *EventWaitOp) Event() *Event {
	if o == nil {
		return nil
	}
	return o.event
}

// Enqueue implements Op.
func (o *EventRecordOp) Enqueue(s *Stream) error {
	if o == nil {
		return nilError("event record")
	}
	if e := o.event; e == nil || e.life == nil {
		return fmt.Errorf("%v: %w", o, absentError(e == nil, "event"))
	}
	return s.Record(o.event)
}

// Enqueue implements Op.
func (o *EventWaitOp) Enqueue(s *Stream) error {
	if o == nil {
		return nilError("event wait")
	}
	if e := o.event; e == nil || e.life == nil {
		return fmt.Errorf("%v: %w", o, absentError(e == nil, "event"))
	}
	return s.WaitEvent(o.event)
}

// Context implements Op: it is the event's.
func (o *EventRecordOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.event.Context()
}

// Context implements Op: it is the event's, but the operation may run in any.
func (o *EventWaitOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.event.Context()
}

// Refs implements Op.
func (o *EventRecordOp) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Refs implements Op.
func (o *EventWaitOp) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Accesses implements Op. It returns nil.
func (o *EventRecordOp) Accesses() []Access { return nil }

// Accesses implements Op. It returns nil.
func (o *EventWaitOp) Accesses() []Access { return nil }

// String implements Op.
func (o *EventRecordOp) String() string {
	if o == nil {
		return "nil event record"
	}
	return fmt.Sprintf("record of %v", o.event)
}

// String implements Op.
func (o *EventWaitOp) String() string {
	if o == nil {
		return "nil event wait"
	}
	return fmt.Sprintf("wait for %v", o.event)
}

func (*EventRecordOp) op() {}
func (*EventWaitOp) op()   {}
