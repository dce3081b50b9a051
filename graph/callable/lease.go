package callable

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/internal/refusal"
	turns "github.com/purecuda/cuda/graph/internal/turn"
)

// lease is the memory of a variant in the arena of WithArena. The zero lease has no arena, and its
// methods do nothing. The Callable's lock protects it.
//
// All plans of the arena share its addresses. No other graph of the arena may therefore be launched
// between two operations of a call. A replay enqueues the copies of its inputs and the launch. An
// eager call enqueues all operations of the function. Between enter and leave, the lease holds the
// arena's turn while the call enqueues this work.
type lease struct {
	*shelf
	name string
	plan *arena.Plan // nil until the function requests memory
	tie  *turns.Tie  // nil until there is memory
	held bool
}

// shelf is the part of an arena that a Callable uses.
type shelf struct {
	arena *arena.Arena
	turn  *turns.Turn
	name  string // name of the function
	made  int    // number of leases so far
}

// newShelf prepares a new Callable for its arena.
func (c *Callable[In, Out]) newShelf() error {
	if !c.o.shares {
		return nil
	}
	p, err := c.o.arena.SharedPlan("a test for the arena")
	if err != nil {
		return err
	}
	b, err := arena.Alloc[byte](p, 0) // zero elements, so no driver call
	if err != nil {
		return refusal.Join([]error{err, p.Close()})
	}
	turn := b.Ref().Lifetime().End().(turns.Holder).Memory().Turn
	f := runtime.FuncForPC(reflect.ValueOf(c.f).Pointer()).Name()
	c.shelf = &shelf{arena: c.o.arena, turn: turn, name: strings.TrimSuffix(path.Base(f), "-fm")}
	return p.Close()
}

// newLease returns the lease of a new variant.
func (s *shelf) newLease() lease {
	if s == nil {
		return lease{}
	}
	s.made++
	return lease{shelf: s, name: fmt.Sprintf("%s, shape %d", s.name, s.made)}
}

// allocIn allocates from the arena.
func allocIn[T any](l *lease, n int) (*driver.Buffer[T], error) {
	if l.plan == nil {
		p, err := l.arena.SharedPlan(l.name)
		if err != nil {
			return nil, err
		}
		l.plan = p
	}
	b, err := arena.Alloc[T](l.plan, n)
	if err != nil {
		return nil, err
	}
	m := b.Ref().Lifetime().End().(turns.Holder).Memory()
	if l.tie == nil {
		l.tie = turns.Guest(m.Turn, m.Plan)
		runtime.AddCleanup(l.plan, (*turns.Tie).Leave, l.tie) // the program dropped the Callable without Close
	}
	l.tie.Use(m)
	return b, nil
}

// settle prepares for a capture of s. Without it, launches of other graphs of the arena would fail
// during the capture, because they could not wait for earlier work in s.
func (l *lease) settle(s *driver.Stream) error {
	if l.shelf == nil || l.held {
		return nil
	}
	return l.turn.Settle(s)
}

// enter makes s wait for the latest launch of another graph of the arena, and makes later launches
// wait until leave is called.
func (l *lease) enter(s *driver.Stream) error {
	if l.tie == nil || l.held {
		return nil
	}
	if err := l.tie.Hold(s); err != nil {
		return err
	}
	l.held = true
	return nil
}

// launch launches the graph of the variant.
func (l *lease) launch(x *graph.Exec, s *driver.Stream) error {
	if !l.held {
		return x.Launch(s) // Exec.Launch waits for the turn itself
	}
	tie, err := x.Lifetime().End().(turns.Tied).Tie()
	if err != nil {
		return err
	}
	return l.tie.LetLaunch(tie, func() error { return x.Launch(s) })
}

// leave ends the turn. worked reports whether the call enqueued work in addition to a launch of its
// graph.
func (l *lease) leave(worked bool) {
	if l.held {
		l.held = false
		l.tie.Release(worked)
	}
}

// close closes the buffers and the plan.
func (l *lease) close() error {
	l.tie.Leave()
	l.tie = nil
	return l.plan.Close()
}
