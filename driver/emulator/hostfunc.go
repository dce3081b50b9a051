package emulator

import (
	"runtime"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// callbackThread is the driver's own thread. It runs the host functions of all streams and the
// destructors of user objects, one after the other. It exists from the first of them until Close.
type callbackThread struct {
	e        *Emulator
	queue    []func()
	arrived  *sync.Cond
	begun    bool
	stopping bool
	ended    chan struct{}
}

func (t *callbackThread) init(e *Emulator) {
	t.e, t.arrived, t.ended = e, sync.NewCond(&e.mu), make(chan struct{})
}

// post queues a function to run on the thread. The emulator's lock is held.
func (t *callbackThread) post(run func()) {
	if t.stopping {
		return
	}
	if !t.begun {
		t.begun = true
		go t.loop()
	}
	t.queue = append(t.queue, run)
	t.arrived.Signal()
}

// call runs a function on the thread and waits for it without holding the lock.
func (t *callbackThread) call(run func()) {
	done := make(chan struct{})
	t.e.mu.Lock()
	t.post(func() { defer close(done); run() })
	t.e.unlock()
	<-done
}

// loop is the body of the thread. It stays locked to its OS thread, which exits with it. Otherwise
// another goroutine could inherit the thread on which CUDA calls are forbidden.
func (t *callbackThread) loop() {
	runtime.LockOSThread()
	stopped := false
	defer func() {
		if stopped {
			close(t.ended)
			return
		}
		go t.loop() // a function ended the goroutine, and others wait
	}()
	t.e.mu.Lock()
	defer t.e.unlock()
	self := t.e.thread()
	self.callback = true
	defer delete(t.e.threads, self.id)
	for {
		for len(t.queue) == 0 && !t.stopping {
			t.arrived.Wait()
		}
		if len(t.queue) == 0 {
			stopped = true
			return
		}
		run := t.queue[0]
		t.queue = t.queue[1:]
		t.e.unlocked(run)
	}
}

// stop ends the thread after it has run what is queued. The emulator's lock is held, and no stream
// has a goroutine any more.
func (t *callbackThread) stop() {
	t.stopping = true
	t.arrived.Signal()
	if t.begun {
		t.e.unlocked(func() { <-t.ended })
	}
}

// hostNode is a call of a host function, in a stream or as a node.
type hostNode struct {
	fn       uintptr
	userData uintptr
}

func (n *hostNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_HOST }

func (n *hostNode) run(x *execution) result {
	x.e.stats.hostCalls.Add(1)
	x.spend(func(m *CostModel) time.Duration { return m.HostFunction })
	x.hostKnows()
	x.e.callbacks.call(func() { loader.CallCallback(n.fn, n.userData) })
	return success
}

var hostFuncFunctions = functions{
	"cuLaunchHostFunc":    {cuLaunchHostFunc, afterInit},
	"cuStreamAddCallback": {cuStreamAddCallback, afterInit},
}

func cuLaunchHostFunc(c call) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case c.Word(1) == 0:
		return errInvalidValue
	}
	return s.submit(&hostNode{c.Word(1), c.Word(2)})
}

// streamCallback is the operation of cuStreamAddCallback. Unlike a host function it receives the
// stream's status, so it runs after a fault too.
type streamCallback struct {
	fn, stream, userData uintptr
}

func (op *streamCallback) runsAfterFault() {}

func (op *streamCallback) run(x *execution) result {
	x.e.stats.hostCalls.Add(1)
	x.hostKnows()
	x.e.mu.Lock()
	status := x.ctx.dev.fault
	x.e.unlock()
	x.e.callbacks.call(func() {
		loader.CallCallback(op.fn, op.stream, uintptr(status), op.userData)
	})
	return success
}

func cuStreamAddCallback(c call) result {
	s, r := streamAt(c, 0)
	switch {
	case r != success:
		return r
	case c.Word(1) == 0 || c.Uint32(3) != 0:
		return errInvalidValue
	case s.cap != nil:
		return s.cap.invalidate(errUnsupported)
	}
	if r := s.implicitlyCaptured(); r != success {
		return r
	}
	s.enqueue(&streamCallback{c.Word(1), c.Word(0), c.Word(2)})
	return success
}
