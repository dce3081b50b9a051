package life

import "sync"

// reclaimer destroys unreachable objects, and those closed where CUDA must not be called. A driver
// call may block for as long as the GPU works (cuMemFree waits). The runtime's cleanup goroutines
// must not block, so cleanups only queue here. The goroutine exists while there is something to do.
var reclaimer struct {
	sync.Mutex
	queue   []func()
	running bool
}

// reclaim is the runtime cleanup of every typed object.
func reclaim(l *Lifetime) {
	if !l.closed.Load() {
		l.reclaimLater(l.reclaim)
	}
}

// reclaimLater queues a job for an object. Closing its driver waits for the job.
func (l *Lifetime) reclaimLater(destroy func()) {
	b := l.background()
	b.Begin()
	job := func() {
		defer b.End()
		destroy()
	}
	reclaimer.Lock()
	defer reclaimer.Unlock()
	reclaimer.queue = append(reclaimer.queue, job)
	if !reclaimer.running {
		reclaimer.running = true
		go reclaimQueue()
	}
}

func reclaimQueue() {
	for {
		reclaimer.Lock()
		queue := reclaimer.queue
		reclaimer.queue = nil
		reclaimer.running = len(queue) > 0
		reclaimer.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, job := range queue {
			job()
		}
	}
}

func (l *Lifetime) reclaim() {
	if !l.closed.CompareAndSwap(false, true) {
		return // a Close that the collector overtook
	}
	err := l.Release()
	if err != nil {
		l.home.note(err)
	}
	if hook := leakHook.Load(); hook != nil {
		(*hook)(l.report(err))
	}
}
