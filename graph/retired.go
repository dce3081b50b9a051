package graph

import (
	"context"
	"sync"

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
		r.record(s)
	}
}

// record has an event happen after the launch. Without one, things wait for a
// later try, or for Wait or Close.
func (r *retired) record(s *driver.Stream) {
	if r.event == nil {
		e, err := s.Context().NewEvent()
		if err != nil {
			return
		}
		r.event = e
	}
	if s.Record(r.event) != nil {
		return
	}
	r.waiting, r.fresh = r.fresh, r.waiting[:0]
	r.recorded = true
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
func (r *retired) depart() {
	old := &retired{last: r.last, replays: r.replays, settled: r.settled, fresh: r.fresh, waiting: r.waiting}
	r.fresh, r.waiting, r.recorded = nil, nil, false
	r.settled = r.replays
	old.parkOrRelease()
}

// close ends the exec: nothing is retired any more.
func (r *retired) close() error {
	err := r.event.Close()
	r.parkOrRelease()
	return err
}

// parkOrRelease lets go of everything when the last launch has ended: now, or
// on a goroutine that waits for that.
func (r *retired) parkOrRelease() {
	if r.settled == r.replays {
		r.letGo()
		return
	}
	if done, err := r.last.Query(); err == nil && done {
		r.letGo()
		return
	}
	parked.Go(r.park)
}

// parked counts the goroutines that wait for launches of execs that are gone.
var parked sync.WaitGroup

// park waits for the stream of the last launch, or if that is closed for its
// context. If that fails too, the work is over one way or the other.
func (r *retired) park() {
	if err := r.last.Wait(context.Background()); err != nil {
		_ = r.last.Context().Synchronize(context.Background())
	}
	r.letGo()
}
