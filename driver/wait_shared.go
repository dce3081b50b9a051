package driver

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Shared goroutines poll the waits that are too many or too long for their own goroutines to poll.
// Each has a list and runs while it is not empty.
const (
	mostPollers    = 4
	waitsPerPoller = 64

	// Without news, the pause between two passes grows with the time since the last completed event
	// and the last new wait. Pauses shorter than minPause are skipped, because the runtime's timers
	// lengthen them.
	pauseShare = 128
	minPause   = 250 * time.Microsecond
	maxPause   = time.Millisecond
)

// sharedWait is a wait in the list of a poller. Whoever takes it out of the state pending, the
// waiting goroutine or the poller, releases what it holds.
type sharedWait struct {
	w      waitable
	state  atomic.Uint32
	answer chan error // of one
}

const (
	waitPending = iota
	waitAnswered
	waitAbandoned // by a cancellation
)

var sharedWaits = sync.Pool{New: func() any { return &sharedWait{answer: make(chan error, 1)} }}

func (e *sharedWait) recycle() {
	e.w = nil
	sharedWaits.Put(e)
}

// awaitShared waits with the help of a poller.
func awaitShared(ctx context.Context, w waitable) error {
	e := sharedWaits.Get().(*sharedWait)
	e.w = w
	e.state.Store(waitPending)
	nextPoller().add(e)
	var err error
	if cancelled := cancellation(ctx); cancelled == nil {
		err = <-e.answer
	} else {
		select {
		case err = <-e.answer:
		case <-cancelled:
			if e.state.CompareAndSwap(waitPending, waitAbandoned) {
				return context.Cause(ctx) // the poller gives back the rest
			}
			err = <-e.answer
		}
	}
	w.done()
	e.recycle()
	return err
}

// poller polls the waits of its list.
type poller struct {
	mu      sync.Mutex
	fresh   []*sharedWait // since the latest pass
	running bool
	wake    chan struct{}
}

var pollers [mostPollers]poller

func init() {
	for i := range pollers {
		pollers[i].wake = make(chan struct{}, 1)
	}
}

var pollerTurn atomic.Uint32

// nextPoller uses as many pollers as the number of waits requires, and leaves most processors to
// others.
func nextPoller() *poller {
	n := min((waits.now.Load()+waitsPerPoller-1)/waitsPerPoller, waits.few.Load()/4, mostPollers)
	if n <= 1 {
		return &pollers[0]
	}
	return &pollers[pollerTurn.Add(1)%uint32(n)]
}

func (p *poller) add(e *sharedWait) {
	p.mu.Lock()
	p.fresh = append(p.fresh, e)
	start := !p.running
	p.running = true
	p.mu.Unlock()
	if start {
		go p.run()
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run makes passes over the list until it is empty.
func (p *poller) run() {
	countProcessors()
	var list []*sharedWait
	var timer *time.Timer
	for latest := time.Now(); ; {
		p.mu.Lock()
		news := len(p.fresh)
		list = append(list, p.fresh...)
		clear(p.fresh)
		p.fresh = p.fresh[:0]
		if p.running = len(list) > 0; !p.running {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		n := len(list)
		list = pass(list)
		now := time.Now()
		if news > 0 || len(list) < n {
			latest = now
		}
		pause := now.Sub(latest) / pauseShare
		if pause < minPause {
			runtime.Gosched()
			continue
		}
		if pause = min(pause, maxPause); timer == nil {
			timer = time.NewTimer(pause)
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-p.wake:
		}
	}
}

// pass polls each wait and returns those that are not over.
func pass(list []*sharedWait) []*sharedWait {
	left := list[:0]
	for _, e := range list {
		if e.state.Load() == waitAbandoned {
			e.w.done()
			e.recycle()
			continue
		}
		over, err := e.w.poll()
		switch {
		case !over && err == nil:
			left = append(left, e)
		case e.state.CompareAndSwap(waitPending, waitAnswered):
			e.answer <- err // from here on it is the waiting goroutine's
		default:
			e.w.done()
			e.recycle()
		}
	}
	clear(list[len(left):])
	return left
}
