package graph

import (
	"context"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
)

// retired is what an exec does not refer to any more while launches that do are
// still under way. CUDA orders the launches of one exec, so when a later point
// of the stream of the last launch is reached, all of them have ended.
//
// Steady state allocates nothing: things collect in fresh; when they are many,
// the next launch records an event and they become waiting; when the event has
// happened they are let go of.
type retired struct {
	last     *driver.Stream // of the latest launch
	replays  uint64
	settled  uint64 // launches that are known to have ended
	fresh    []keeper
	waiting  []keeper
	recorded bool // event stands behind the users of waiting
	event    *driver.Event

	mem *launchMemory // what launches leave allocated; nil: nothing
}

// enough is how many retired things are worth an event.
const enough = 64

// launched counts a launch.
func (r *retired) launched(s *driver.Stream) {
	r.replays++
	if r.last != s {
		r.last = s
	}
	if r.mem != nil {
		r.mem.launched()
	}
	if len(r.fresh) >= enough && !r.recorded {
		r.record()
	}
}

// record has an event happen after the launch. Without one, things wait for a
// later try, or for Run, Wait or Close.
func (r *retired) record() {
	if !r.marksLast() {
		return
	}
	r.waiting, r.fresh = r.fresh, r.waiting[:0]
	r.recorded = true
}

// mark has the event stand behind the launches on s. It reports false while s
// is being captured: there every query and wait breaks the capture, and an
// event that is recorded stands in the graph and not behind anything.
func (r *retired) mark(s *driver.Stream) (bool, error) {
	if r.event == nil {
		e, err := s.Context().NewEvent()
		if err != nil {
			return false, err
		}
		r.event = e
	}
	if !capturing.keepOut(s) {
		return false, nil
	}
	defer capturing.letIn(s)
	status, _, err := s.CaptureStatus()
	if err != nil || status != driver.CU_STREAM_CAPTURE_STATUS_NONE {
		return false, err
	}
	return true, s.Record(r.event)
}

// retire lets go of a thing as soon as no launch needs it.
func (r *retired) retire(k keeper) {
	r.fresh = append(r.fresh, k)
}

// sweep lets go of what can be let go of without waiting.
func (r *retired) sweep() {
	if len(r.fresh)+len(r.waiting) == 0 {
		return
	}
	if r.settled == r.replays {
		r.letGo()
		return
	}
	if !r.recorded || len(r.fresh) < enough {
		return
	}
	if done, err := r.event.Query(); err == nil && done {
		letGoAll(&r.waiting)
		r.recorded = false
	}
}

// settle notes that the first n launches have ended.
func (r *retired) settle(n uint64) {
	r.settled = max(r.settled, n)
	r.sweep()
}

func (r *retired) letGo() {
	letGoAll(&r.fresh)
	letGoAll(&r.waiting)
	r.recorded = false
}

func letGoAll(list *[]keeper) {
	for i, k := range *list {
		(*list)[i] = keeper{}
		k.letGo()
	}
	*list = (*list)[:0]
}

// retireGone lets go of what owners dropped.
func (r *retired) retireGone(o *owners) {
	if len(o.gone) == 0 {
		return
	}
	for i, k := range o.gone {
		r.fresh = append(r.fresh, k)
		o.gone[i] = keeper{}
	}
	o.gone = o.gone[:0]
	r.sweep()
}

// depart is for an executable graph that another takes the place of: what it
// refers to is let go of when its launches have ended, with which those of the
// other have nothing to do.
func (r *retired) depart() error {
	old := &retired{last: r.last, replays: r.replays, settled: r.settled, fresh: r.fresh, waiting: r.waiting}
	r.fresh, r.waiting, r.recorded = nil, nil, false
	r.settled = r.replays
	return old.parkOrRelease()
}

// close ends the exec: nothing is retired any more.
func (r *retired) close() error {
	return r.parkOrRelease()
}

// parkOrRelease lets go of everything when the last launch has ended: now, or
// on a goroutine that waits for that.
func (r *retired) parkOrRelease() error {
	if r.settled < r.replays && !r.ended() {
		parked.Go(r.park)
		return nil
	}
	return r.end()
}

// ended reports whether the last launch has been seen to have ended.
func (r *retired) ended() bool {
	if !r.marksLast() {
		return false
	}
	done, err := r.event.Query()
	return done && err == nil
}

// marksLast is mark for the stream of the last launch, as far as that can be
// marked: the per-thread stream is another one on another thread.
func (r *retired) marksLast() bool {
	if r.last.Raw() == driver.CU_STREAM_PER_THREAD {
		return false
	}
	stands, err := r.mark(r.last)
	return stands && err == nil
}

// end lets go of everything, the event included.
func (r *retired) end() error {
	r.letGo()
	err := r.event.Close()
	r.event = nil
	return err
}

// parked counts the goroutines that wait for launches of execs that are gone.
var parked sync.WaitGroup

// park waits for the last launch, or if that cannot be asked about for its
// context. If that fails too, the work is over one way or the other.
func (r *retired) park() {
	if !r.waitForLast() {
		_ = r.last.Context().Synchronize(context.Background())
	}
	_ = r.end() // an event that cannot be destroyed, and nobody to be told
}

// waitForLast waits for an event behind the last launch, as soon as a capture
// that is open on the stream is over.
func (r *retired) waitForLast() bool {
	if r.last.Raw() == driver.CU_STREAM_PER_THREAD {
		return false
	}
	stands, err := r.mark(r.last)
	for nap := 50 * time.Microsecond; err == nil && !stands; nap = min(2*nap, 20*time.Millisecond) {
		time.Sleep(nap)
		stands, err = r.mark(r.last)
	}
	return err == nil && r.event.Wait(context.Background()) == nil
}
