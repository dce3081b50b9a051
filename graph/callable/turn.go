package callable

import (
	"context"
	"fmt"
)

// turn is a lock that is taken under a context: a call that waits for another one
// to end can be cancelled.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// Lock takes the turn for what cannot be cancelled.
func (t turn) Lock() { t <- struct{}{} }

// Unlock gives the turn to the next.
func (t turn) Unlock() { <-t }

// lock takes the turn unless ctx ends first, whose cause it returns. A nil ctx
// never ends.
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
