package callable

import (
	"context"
	"fmt"
	"runtime"
)

// turn is a lock with cancellable waits, so a context can cancel a call that waits for another
// call.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) Lock() { t <- struct{}{} }

func (t turn) Unlock() { <-t }

// pass releases the lock. If another call was waiting for the lock, that call runs first, so that
// it launches before this goroutine continues with the caller's code. Otherwise the stream would be
// idle until this goroutine blocks, or until another processor steals the waiting goroutine.
func (t turn) pass() {
	t.Unlock()
	if len(t) > 0 {
		runtime.Gosched()
	}
}

// lock acquires the lock. If ctx ends first, lock returns the context's cause. A nil ctx never
// ends.
func (t turn) lock(ctx context.Context) error {
	if ctx == nil {
		t.Lock()
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("while another call was running: %w", context.Cause(ctx))
	}
}
