package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/access"
)

// Flow is a list of operations in program order. It builds graphs that run them as concurrently as
// possible with the same results. It derives the edges from the memory that operations read and
// write: an operation runs after an earlier one that writes what it reads, or that reads or writes
// what it writes. Redundant edges are left out, and the same list always gives the same graph.
//
// Accesses are exact for copies, fills and memory operations. A kernel is assumed to read and write
// all of each buffer or view among its arguments, unless driver.In or driver.Out say otherwise.
// Declare unknown accesses (of a host function, an address passed as a number, memory that a kernel
// finds itself) with driver.In, Out and InOut at Add, or order the step with [Step.After].
//
// Operations are read when they are added, and their parameters again when a graph is built. So
// each step needs its own operation: do not change and reuse one launch for two steps that use
// different memory.
//
// Only one goroutine at a time may use a Flow. It need not be closed.
type Flow struct {
	ctx   *driver.Context
	steps []flowStep
	index access.Index
	done  access.Reach // which steps come before which
}

// NewFlow returns an empty Flow for operations of c.
func NewFlow(c *driver.Context) *Flow { return &Flow{ctx: c} }

// Add adds an operation after those already added. It runs after those that it conflicts with. uses
// declares further memory accesses.
func (f *Flow) Add(op driver.Op, uses ...driver.Declared) (Step, error) {
	if !f.exists() {
		return Step{}, aFlow.Error(f == nil)
	}
	if err := accepts(f.ctx, op); err != nil {
		return Step{}, f.addError(op, err)
	}
	s := flowStep{op: op, extra: append([]driver.Declared(nil), uses...)}
	if l, ok := op.(*driver.Launch); ok {
		s.version = uint64(l.Block().Accesses)
	}
	s.uses = append(make([]driver.Access, 0, len(op.Accesses())+len(uses)), op.Accesses()...)
	for i, u := range uses {
		a, err := declaredAccess(u, i)
		if err != nil {
			return Step{}, f.addError(op, err)
		}
		s.uses = append(s.uses, a)
	}
	return f.enter(s), nil
}

// exists reports whether f was made with a context.
func (f *Flow) exists() bool { return f != nil && f.ctx != nil }

func (f *Flow) addError(op driver.Op, err error) error {
	if op == nil {
		return fmt.Errorf("cannot add step %d to a flow: %w", len(f.steps), err)
	}
	return fmt.Errorf("cannot add %v as step %d to a flow: %w", op, len(f.steps), err)
}

// enter finds what a new step runs after.
func (f *Flow) enter(s flowStep) Step {
	i := len(f.steps)
	for _, a := range s.uses {
		f.index.Conflicts(a, &s.after)
	}
	for _, a := range s.uses {
		f.index.Add(i, a)
	}
	s.after = f.done.Add(s.after)
	f.steps = append(f.steps, s)
	return Step{f, i}
}

// Items returns the steps as items for AddBatch, in order, with their names and declared uses. Give
// Deps to those without After to run the steps after other nodes. Without names and declared uses
// they also make a plan. Items can be called any number of times. Between Add and Items, numbers
// among the arguments of launches may change, but not the memory.
func (f *Flow) Items() ([]Item, error) {
	if !f.exists() {
		return nil, aFlow.Error(f == nil)
	}
	if err := f.unchanged(); err != nil {
		return nil, err
	}
	items := make([]Item, len(f.steps))
	for i := range items {
		s := &f.steps[i]
		items[i] = Item{Op: s.op, After: append([]int(nil), s.after...), Name: s.name, Uses: s.extra}
	}
	return items, nil
}

// Build returns a new graph of the steps.
func (f *Flow) Build() (*Graph, error) {
	items, err := f.Items()
	if err != nil {
		return nil, err
	}
	g, err := New(f.ctx)
	if err != nil {
		return nil, err
	}
	if _, err := g.AddBatch(nil, items); err != nil {
		return nil, fmt.Errorf("cannot build a flow: %w", join([]error{err, g.Close()}))
	}
	return g, nil
}

// unchanged refuses launches that use other memory now than when the order was
// derived.
func (f *Flow) unchanged() error {
	for i := range f.steps {
		s := &f.steps[i]
		if l, ok := s.op.(*driver.Launch); ok && uint64(l.Block().Accesses) != s.version {
			return invalid("cannot build a flow: the memory of step %d, %v, was changed after it was added; take a launch for each step", i, l)
		}
	}
	return nil
}
