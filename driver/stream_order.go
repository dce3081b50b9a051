package driver

import (
	"errors"
	"fmt"
)

// After makes later work in s run after all work already in other. For example, a copy stream runs
// after the stream that computes what it copies, which continues in the meantime. After does not
// wait. If other is capturing, s joins the capture.
//
// It creates and releases an event. To order streams in every step more cheaply, record your own
// Event and use WaitEvent.
func (s *Stream) After(other *Stream) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := other.ready(); err != nil {
		return fmt.Errorf("%v cannot run behind another stream: %w", s, err)
	}
	e, err := other.Context().NewEvent()
	if err != nil {
		return fmt.Errorf("%v cannot run behind %v: %w", s, other, err)
	}
	err = other.Record(e)
	if err == nil {
		err = s.WaitEvent(e)
	}
	return errors.Join(err, e.Close())
}
