package callable

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/inflight"
)

// policy decides whether calls with a given shape replay a graph or run eagerly.
type policy struct {
	tried  int  // eager calls before the first recording
	debt   int  // recordings that saved nothing, weighted by their cost
	same   int  // eager calls in a row with the same constants, after giving up
	gaveUp int  // number of times that the shape returned to eager calls
	scoped bool // the function called Trace.Scope
}

// The weights follow llama.cpp, which stops recording after four updates in a row. Replays between
// updates pay for some of them. An instantiation costs several times as much as an update.
const (
	costOfUpdate  = 1
	costOfFailure = 3
	debtLimit     = 6

	sameToRecord = 16 // doubles each time a shape is given up
	maxDoublings = 8
)

// eager reports whether the next call of a shape that has no graph yet is eager.
func (p *policy) eager(first int) bool {
	switch {
	case p.scoped:
		return false
	case p.gaveUp > 0:
		return p.same < sameToRecord<<min(p.gaveUp-1, maxDoublings)
	}
	return p.tried < first
}

// ranEagerly counts an eager call. changed means that its constants differ from the previous
// call's.
func (p *policy) ranEagerly(changed bool) {
	switch {
	case p.gaveUp == 0:
		p.tried++
	case changed:
		p.same = 0
	default:
		p.same++
	}
}

// giveUp makes the following calls eager.
func (p *policy) giveUp() {
	p.gaveUp++
	p.debt, p.same = 0, 0
}

// choose reports whether a call is eager. v is the variant for the input, or nil for a new shape.
func (c *Callable[In, Out]) choose(v *variant[In, Out], in In) (bool, error) {
	switch {
	case c.work == nil:
		return false, nil
	case v == nil:
		return c.o.first > 0, nil
	case v.exec == nil:
		return v.eager(c.o.first), nil
	case v.scoped || v.debt < debtLimit || allHold(v.constants, in):
		return false, nil
	}
	c.stats.GivenUp.Add(1)
	v.giveUp()
	x := v.exec
	v.exec = nil
	if err := x.Close(); err != nil {
		return false, fmt.Errorf("the graph of a shape that changes too often: %w", err)
	}
	return true, nil
}

// refresh updates the graph of a variant for an input. It records the function again if constants
// changed or the variant has no complete graph.
func (c *Callable[In, Out]) refresh(v *variant[In, Out], in In) error {
	if v.exec == nil || v.partial {
		err := c.instantiate(v, in)
		if err != nil && (v.exec == nil || v.partial) {
			c.noteFailure(v)
		}
		return err
	}
	if allHold(v.constants, in) {
		v.debt = max(0, v.debt-costOfUpdate)
		return nil
	}
	failed, err := c.update(v, in)
	if failed {
		c.stats.Failed.Add(1)
		v.debt += costOfFailure
	} else {
		v.debt += costOfUpdate
	}
	return err
}

// noteFailure counts a failed recording of a shape that has no graph.
func (c *Callable[In, Out]) noteFailure(v *variant[In, Out]) {
	c.stats.Failed.Add(1)
	v.debt += costOfFailure
	if c.work != nil && v.exec == nil && v.debt >= debtLimit {
		c.stats.GivenUp.Add(1)
		v.giveUp()
	}
}

// eagerWork retains the objects of eager calls until their work has ended. The Callable's lock
// protects it.
type eagerWork struct {
	inflight.Launches
	shut bool
}

// prepareEager prepares a new Callable for eager calls. On the per-thread stream, calls are never
// eager, because a call's operations could be enqueued from different threads, and so in different
// streams.
func (c *Callable[In, Out]) prepareEager() {
	if !c.o.adaptive || c.s.Raw() == cu.CU_STREAM_PER_THREAD {
		return
	}
	c.work = new(eagerWork)
	mu := c.mu
	runtime.AddCleanup(c, func(w *eagerWork) { // the program dropped the Callable without Close
		mu.Lock()
		defer mu.Unlock()
		_ = w.close()
	}, c.work)
}

func (w *eagerWork) close() error {
	if w == nil || w.shut {
		return nil
	}
	w.shut = true
	return w.Close()
}

// calls returns the number of eager calls so far.
func (w *eagerWork) calls() uint64 {
	if w == nil {
		return 0
	}
	return w.Replays
}

// noteEnded records that the first n eager calls have ended.
func (w *eagerWork) noteEnded(n uint64) {
	if w != nil && !w.shut && w.Ended < n {
		w.NoteEnded(n)
	}
}
