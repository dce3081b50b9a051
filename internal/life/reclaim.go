package life

import "sync"

// reclaimer destroys unreachable objects, and objects that were closed in a host function. A driver
// call such as cuMemFree may block until the GPU finishes its work, and the runtime's cleanup
// goroutines must not block. So cleanups only add jobs to this queue. The goroutine that runs the
// jobs exits when the queue is empty.
var reclaimer struct {
	sync.Mutex
	queue   []func()
	running bool
}

func reclaim(l *Lifetime) {
	if !l.closed.Load() {
		l.reclaimLater(l.reclaim)
	}
}

// reclaimLater queues a job that destroys an object. Driver.Close waits for the job.
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
		return // Close was called before this job ran
	}
	err := l.Release()
	if err != nil {
		l.home.note(err)
	}
	if hook := leakHook.Load(); hook != nil {
		(*hook)(l.report(err))
	}
}
