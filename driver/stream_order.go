package driver

import (
	"errors"
	"fmt"
)

// After has the work that is sent to s from now on run behind the work that was
// sent to other so far: a copy stream behind the stream that computes what it
// copies, which goes on in the meantime. It waits for nothing itself. If other is
// being captured, s is drawn into the capture.
//
// It makes an event for it and gives it back; a program that orders streams in
// every step saves that by recording an Event of its own and WaitEvent.
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
