package graph

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// Stage enqueues operations in s that prepare the next launch, such as copies of its inputs, and
// does not wait. They run after the previous launch, whatever its stream, so they do not change
// inputs in use. The next launch runs after them, whatever its stream.
//
// On one stream that is the stream's own order and costs nothing. Different streams are ordered by
// an event. If an operation fails, the error names it, and the next launch still runs after those
// before it.
func (x *Exec) Stage(s *driver.Stream, ops ...driver.Op) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	err := x.keep.stage(s, ops)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot stage for %v: %w", x, err)
	}
	return nil
}

func (k *execKeep) stage(s *driver.Stream, ops []driver.Op) error {
	if err := s.Ready(); err != nil {
		return err
	}
	if err := sameDriver(k.ctx, s, s.Context()); err != nil {
		return err
	}
	if err := k.afterStaged(s); err != nil {
		return err
	}
	if k.Ended < k.Replays && !isOrdered(k.Stream, s) {
		if err := k.Precede(s); err != nil {
			return err
		}
	}
	if len(ops) == 0 {
		return nil
	}
	var failed error
	send := func() error {
		for i, op := range ops {
			if l, ok := op.(*launchOp); ok && l.x != nil && l.x.keep == k {
				failed = invalid("operation %d launches the executable graph that it is staged for", i)
				return failed
			}
			if failed = s.Do(op); failed != nil {
				failed = fmt.Errorf("operation %d: %w", i, failed)
				if i == 0 {
					return failed
				}
				break // those before it are staged
			}
		}
		return nil
	}
	if !k.Staged.Follows(s) {
		return cmp.Or(k.Staged.Move(s, send), failed)
	}
	k.Staged.Marked = false
	return cmp.Or(send(), failed)
}

// afterStaged has s wait for what was staged on another stream. It stays staged until
// something that succeeds is behind it.
func (k *execKeep) afterStaged(s *driver.Stream) error {
	if k.Staged.Stream == nil || isOrdered(k.Staged.Stream, s) {
		return nil
	}
	return k.Staged.Precede(s)
}

// isOrdered reports whether what is sent to one stream is behind what was sent to
// the other because they are the same. The per-thread stream may be another one now.
func isOrdered(before, after *driver.Stream) bool {
	return before == after && after.Raw() != cu.CU_STREAM_PER_THREAD
}
