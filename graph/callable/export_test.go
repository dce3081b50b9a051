package callable

import "context"

// WaitWith is like Wait, but calls the function between after Wait has found the event for which it
// waits.
func (p Pending[Out]) WaitWith(ctx context.Context, between func()) (out Out, err error) {
	ended, err := p.event(ctx)
	if err != nil {
		return out, err
	}
	between()
	return p.waitFor(ctx, ended)
}

// Ties returns the number of objects that take turns in the arena of the Callable.
func (c *Callable[In, Out]) Ties() func() int { return c.shelf.turn.Ties }
