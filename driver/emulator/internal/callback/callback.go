// Package callback runs functions of the program on one OS thread, one after the other, as a driver
// runs host functions and the destructors of user objects.
package callback

import (
	"runtime"
	"sync"
)

// Thread is the driver's own thread. It exists from the first function until Stop.
type Thread struct {
	env      Env
	queue    []func()
	arrived  *sync.Cond
	begun    bool
	stopping bool
	ended    chan struct{}
}

// Env is the driver that a thread belongs to. Its lock guards the thread.
type Env struct {
	Lock   *sync.Mutex
	Unlock func()                // unlocks Lock
	Enter  func() (leave func()) // is called on the OS thread with the lock held, as leave is
}

// Init prepares a thread.
func (t *Thread) Init(env Env) {
	t.env, t.arrived, t.ended = env, sync.NewCond(env.Lock), make(chan struct{})
}

// Post queues a function to run on the thread. The lock is held.
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

// Call runs a function on the thread and waits for it. The lock is not held.
func (t *Thread) Call(run func()) {
	done := make(chan struct{})
	t.env.Lock.Lock()
	t.Post(func() { defer close(done); run() })
	t.env.Unlock()
	<-done
}

// loop is the body of the thread. It stays locked to its OS thread, which exits with it. Otherwise
// another goroutine could inherit the thread on which CUDA calls are forbidden.
func (t *Thread) loop() {
	runtime.LockOSThread()
	stopped := false
	defer func() {
		if stopped {
			close(t.ended)
			return
		}
		go t.loop() // a function ended the goroutine, and others wait
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

// Stop ends the thread after it has run what is queued. The lock is held, and no stream has a
// goroutine.
func (t *Thread) Stop() {
	t.stopping = true
	t.arrived.Signal()
	if t.begun {
		t.unlocked(func() { <-t.ended })
	}
}

// unlocked runs f without the lock.
func (t *Thread) unlocked(f func()) {
	t.env.Unlock()
	defer t.env.Lock.Lock()
	f()
}
