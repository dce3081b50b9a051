package driver

import (
	"fmt"

	"github.com/purecuda/cuda/internal/life"
)

// EventOp records an event in stream order, or holds back later work in the stream until an event
// has completed.
type EventOp struct {
	event *Event
	wait  bool
	refs  []life.Ref
}

// RecordOp returns an operation that records e, as Stream.Record does.
func RecordOp(e *Event) *EventOp { return newEventOp(e, false) }

// WaitOp returns an operation that waits for e, as Stream.WaitEvent does.
func WaitOp(e *Event) *EventOp { return newEventOp(e, true) }

func newEventOp(e *Event, wait bool) *EventOp {
	o := &EventOp{event: e, wait: wait}
	if e != nil {
		o.refs = []life.Ref{e}
	}
	return o
}

// Event returns the event.
func (o *EventOp) Event() *Event {
	if o == nil {
		return nil
	}
	return o.event
}

// IsWait reports whether the operation waits for the event instead of recording it.
func (o *EventOp) IsWait() bool { return o != nil && o.wait }

// Enqueue implements Op.
func (o *EventOp) Enqueue(s *Stream) error {
	if o == nil {
		return nilError("event operation")
	}
	if e := o.event; e == nil || e.life == nil {
		return fmt.Errorf("%v: %w", o, absentError(e == nil, "event"))
	}
	if o.wait {
		return s.WaitEvent(o.event)
	}
	return s.Record(o.event)
}

// Context implements Op: it is the event's. A wait may run in any.
func (o *EventOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.event.Context()
}

// Refs implements Op.
func (o *EventOp) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Accesses implements Op. It returns nil.
func (o *EventOp) Accesses() []Access { return nil }

// String implements Op.
func (o *EventOp) String() string {
	switch {
	case o == nil:
		return "nil event operation"
	case o.wait:
		return fmt.Sprintf("wait for %v", o.event)
	}
	return fmt.Sprintf("record of %v", o.event)
}

func (*EventOp) op() {}
