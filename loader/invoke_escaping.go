package loader

// escaped makes the compiler believe that a block is kept.
//
//lint:ignore U1000 only the store matters
var escaped *Call

// InvokeEscaping is Invoke for C functions that call back into Go before they
// return. A callback may grow and so move the goroutine's stack, and neither
// the trampoline nor C would follow: the block and what it points at must be
// on the heap. Use it for every such function.
func InvokeEscaping(c *Call) uintptr {
	if c == nil {
		escaped = c // never true; that it could be is what matters
	}
	return Invoke(c)
}
