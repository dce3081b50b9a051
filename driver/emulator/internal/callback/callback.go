// Package callback runs functions from the program one at a time on a single OS thread. A CUDA
// driver runs host functions and user object destructors in the same way.
package callback

import (
	"runtime"
	"sync"
)

// Thread is the driver's own thread. It starts at the first Post and runs until Stop.
type Thread struct {
	env      Env
	queue    []func()
	arrived  *sync.Cond
	begun    bool
	stopping bool
	ended    chan struct{}
}

// Env holds the hooks of the driver that a thread belongs to. The driver's lock guards the thread.
type Env struct {
	Lock   *sync.Mutex
	Unlock func()                // releases Lock
	Enter  func() (leave func()) // Enter and leave run on the OS thread with the lock held
}

// Init sets up t for the driver described by env.
func (t *Thread) Init(env Env) {
	t.env, t.arrived, t.ended = env, sync.NewCond(env.Lock), make(chan struct{})
}

// Post queues a function to run on the thread. The caller must hold the lock.
func (t *Thread) Post(run func()) {
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

// Call runs a function on the thread and waits for it. The caller must not hold the lock.
func (t *Thread) Call(run func()) {
	done := make(chan struct{})
	t.env.Lock.Lock()
	t.Post(func() { defer close(done); run() })
	t.env.Unlock()
	<-done
}

// loop is the body of the thread. Its goroutine stays locked to the OS thread, so that the OS
// thread exits with it. Otherwise another goroutine could inherit this OS thread, on which CUDA
// calls are forbidden.
func (t *Thread) loop() {
	runtime.LockOSThread()
	stopped := false
	defer func() {
		if stopped {
			close(t.ended)
			return
		}
		go t.loop() // a function ended this goroutine, but the rest of the queue must still run
	}()
	t.env.Lock.Lock()
	defer t.env.Unlock()
	defer t.env.Enter()()
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
		t.unlocked(run)
	}
}

// Stop ends the thread after it has run all queued functions. The caller must hold the lock, and no
// stream may have a running goroutine.
func (t *Thread) Stop() {
	t.stopping = true
	t.arrived.Signal()
	if t.begun {
		t.unlocked(func() { <-t.ended })
	}
}

func (t *Thread) unlocked(f func()) {
	t.env.Unlock()
	defer t.env.Lock.Lock()
	f()
}
