package callable

import (
	"context"
	"fmt"
)

// turn is a lock that is taken with a context, so that a call waiting for another one can be
// cancelled.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// Lock takes the turn. It cannot be cancelled.
func (t turn) Lock() { t <- struct{}{} }

// Unlock passes the turn on.
func (t turn) Unlock() { <-t }

// lock takes the turn. If ctx ends first, it returns the context's cause. A nil ctx never ends.
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
