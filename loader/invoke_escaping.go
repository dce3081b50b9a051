package loader

// escaped makes escape analysis assume that a block is kept.
//
//lint:ignore U1000 only the store matters
var escaped *Call

// InvokeEscaping is Invoke for C functions that call back into Go before they return. Use it for
// every such function. A callback may grow the goroutine's stack and so move it, and neither the
// trampoline nor C would notice. So the block and what it points to must be on the heap, and
// InvokeEscaping makes them escape.
func InvokeEscaping(c *Call) uintptr {
	if c == nil {
		escaped = c // never runs, but the compiler cannot know that
	}
	return Invoke(c)
}
