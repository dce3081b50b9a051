package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// thread is the driver's record of an operating-system thread: its stack of contexts and its
// capture interaction mode.
type thread struct {
	id       uint64
	stack    []*cudaContext
	mode     cu.CUstreamCaptureMode // default 0, GLOBAL
	callback bool                   // runs host functions; may not call CUDA
}

// thread returns the calling thread's record.
func (e *Emulator) thread() *thread {
	id := loader.ThreadID()
	th := e.threads[id]
	if th == nil {
		th = &thread{id: id}
		e.threads[id] = th
	}
	return th
}

// current returns the context on top of the stack.
func (th *thread) current() *cudaContext {
	if n := len(th.stack); n > 0 {
		return th.stack[n-1]
	}
	return nil
}

// setCurrent replaces the top of the stack; nil pops it.
func (th *thread) setCurrent(ctx *cudaContext) {
	n := len(th.stack)
	switch {
	case ctx == nil && n > 0:
		th.stack = th.stack[:n-1]
	case ctx == nil:
	case n > 0:
		th.stack[n-1] = ctx
	default:
		th.stack = append(th.stack, ctx)
	}
}
