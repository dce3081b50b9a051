package turns

import (
	"context"
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
)

// Timer measures launches in a stream of its own by events.
type Timer struct {
	s          *driver.Stream
	start, end *driver.Event
}

// NewTimer returns a timer for launches in a context. The caller must close it.
func NewTimer(c *driver.Context) (*Timer, error) {
	t := &Timer{}
	var err1, err2, err3 error
	t.s, err1 = c.NewStream()
	t.start, err2 = c.NewEvent(driver.WithTiming())
	t.end, err3 = c.NewEvent(driver.WithTiming())
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close releases the stream and the events.
func (t *Timer) Close() (err error) {
	if t.start != nil {
		err = t.start.Close()
	}
	if t.end != nil {
		err = errors.Join(err, t.end.Close())
	}
	if t.s != nil {
		err = errors.Join(err, t.s.Close())
	}
	return err
}

// Time returns how long count consecutive launches take together.
func (t *Timer) Time(l *driver.Launch, count int) (time.Duration, error) {
	return t.TimeOps([]driver.Op{l}, count)
}

// TimeOps is like Time, for a sequence of operations that is repeated count times.
func (t *Timer) TimeOps(ops []driver.Op, count int) (time.Duration, error) {
	err := t.start.Record(t.s)
	for range count {
		err = errors.Join(err, t.s.Do(ops...))
	}
	if err := errors.Join(err, t.end.Record(t.s), t.s.Wait(context.Background())); err != nil {
		return 0, err
	}
	return t.end.Elapsed(t.start)
}
